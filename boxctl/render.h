/*
 * Any message struct as JSON or as lines for people, by its field table.
 */
#pragma once

#include <jansson.h>

#include "table.h"
#include "wire/msg.h"

/* Owned by the caller. */
json_t *render_json(enum msg_type, const void *body);

/* A string that is valid UTF-8 whatever came; owned by the caller. */
json_t *render_json_string(const char *);

/* To standard output, with a newline; takes it. */
void render_print_json(json_t *);

/* Aligned "name: value" lines; structs inside are indented. */
void render_lines(enum msg_type, const void *body, int indent);

enum colour render_state_colour(enum state);
enum colour render_tier_colour(enum tier);
