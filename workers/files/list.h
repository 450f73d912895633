/* A directory, a page at a time. */
#pragma once

#include "entry.h"

struct page {
	struct entry         *entries; /* owned */
	struct msg_file_info *infos;   /* owned; borrow from the entries */
	size_t                n;
	char                 *next; /* owned; the last name looked at when there may be more; else NULL */
};

/* page_clear is due in any case. */
int  list_page(const struct box *, const struct msg_file_list *, struct page *, struct err *);
void page_clear(struct page *);
