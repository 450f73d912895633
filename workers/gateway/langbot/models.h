/* LangBot's classes, as tables. */
#pragma once

#include "langbot/model.h"

extern const struct model model_spec, model_process, model_policy, model_grant, model_revocation, model_context,
    model_binding;

/* The session's name; one that no message can hold is mapped to the form that its workspace sees. */
const char *session_text(msgpack_zone *, const char *, size_t *n);

/* A spec's working directory is its mount path, when it names none. */
const msgpack_object *spec_with_workdir(msgpack_zone *, const msgpack_object *map);
