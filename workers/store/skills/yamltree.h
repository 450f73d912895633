/*
 * One YAML document as a tree, composed from libyaml's events as PyYAML's safe loader would, and refused where
 * that would raise an error.  Nothing is expanded: an alias is the node it names, so a document is as large as
 * its text however often it repeats itself.
 */
#pragma once

#include "base/err.h"
#include "skills/scalar.h"

enum { YAML_NODES = 10000, YAML_DEPTH = 64 };

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
	enum node_kind kind;
	enum scalar    type;   /* of a scalar */
	struct span    text;   /* of a scalar; owned */
	char          *anchor; /* owned; NULL: none */
	struct node  **kids;   /* owned list of borrowed nodes; of a map: key, value, key, ... */
	size_t         n;
};

struct yaml {
	struct node **nodes; /* owned, all of them */
	size_t        n;
	struct node  *root; /* NULL: the document is empty */
};

/* -1: it is no valid YAML, has more than one document, or is too much of it. */
int  yaml_read(struct yaml *, struct span, struct err *);
void yaml_clear(struct yaml *);

/* The value of this key, merged ones too, or NULL. */
const struct node *yaml_get(const struct node *map, const char *key);

/* Append str() of it; false: Python would raise an error, or it is longer than most bytes. */
bool yaml_print(const struct node *, size_t most, struct buf *, bool *truthy);
