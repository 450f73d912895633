/* What an error has besides its code and text, on its way between two processes of boxd. */
#pragma once

#include "wire/msg.h"

struct msg_detail detail_of(const struct err *);

bool detail_is_empty(const struct msg_detail *);

/* Behind err_set with the text that came along.  What is not known, or not in the text, is left out. */
void detail_take(struct err *, const struct msg_detail *);
