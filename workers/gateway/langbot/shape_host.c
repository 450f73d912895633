/* What the host asks of the runtime itself: status, readiness, receipts. */
#include "langbot/action.h"

static void
put_checks(struct buf *b, const char *key, const struct msg_check *v, size_t n)
{
	json_key(b, key);
	json_open(b, '{');
	for (size_t i = 0; i < n; i++)
		json_key_bool(b, v[i].name, v[i].passed);
	json_close(b, '}');
}

static void
put_name(struct buf *b, const struct msg_readiness *r)
{
	json_key(b, "name");
	if (*r->backend != '\0')
		json_str(b, r->backend);
	else
		json_nil(b);
}

static void
put_readiness(struct buf *b, const struct msg_readiness *r)
{
	json_open(b, '{');
	json_key_bool(b, "ready", r->ready);
	json_key_str(b, "mode", r->enforced ? "grant_enforced" : "standard");
	json_key(b, "backend");
	json_open(b, '{');
	put_name(b, r);
	json_key_bool(b, "available", r->available);
	if (r->enforced)
		put_checks(b, "details", r->details.v, r->details.n);
	json_close(b, '}');
	put_checks(b, "checks", r->checks.v, r->checks.n);
	if (r->enforced)
		json_key_bool(b, "unsafe_soft_storage_limits", r->unsafe_soft_storage_limits);
	if (*r->error != '\0')
		json_key_str(b, "error", r->error);
	json_close(b, '}');
}

static void
put_backend(struct buf *b, const struct msg_readiness *r)
{
	json_open(b, '{');
	put_name(b, r);
	json_key_bool(b, "available", r->enforced ? r->ready : r->available);
	if (r->enforced) {
		json_key(b, "readiness");
		put_readiness(b, r);
	}
	json_close(b, '}');
}

void
shape_backend(struct buf *b, const struct asked *asked, const void *result)
{
	put_backend(b, result);
}

void
shape_health(struct buf *b, const struct asked *asked, const void *result)
{
	const struct msg_readiness *r = result;

	(r->enforced ? put_readiness : put_backend)(b, r);
}

void
shape_status(struct buf *b, const struct asked *asked, const void *result)
{
	const struct msg_box_status_result *r = result;

	json_open(b, '{');
	json_key(b, "backend");
	put_backend(b, &r->readiness);
	json_key_u64(b, "active_sessions", r->active_sessions);
	json_key_u64(b, "managed_processes", r->managed_processes);
	json_key_u64(b, "session_ttl_sec", r->session_ttl_sec);
	json_key(b, "limits");
	json_open(b, '{');
	json_key_u64(b, "max_sessions", r->limits.max_sessions);
	json_key_u64(b, "max_managed_processes", r->limits.max_managed_processes);
	json_key_u64(b, "max_completed_processes", r->limits.max_completed_processes);
	json_key_u64(b, "max_admission_records", r->limits.max_admission_records);
	json_key_u64(b, "max_rpc_file_bytes", r->limits.max_rpc_file_bytes);
	json_close(b, '}');
	json_key(b, "capacity");
	json_open(b, '{');
	json_key_u64(b, "limit", r->capacity.limit);
	json_key_u64(b, "used", r->capacity.used);
	json_key_u64(b, "remaining", r->capacity.remaining);
	json_close(b, '}');
	json_close(b, '}');
}

/* Both parts have their own order of keys, as upstream has it. */
static void
put_directory(struct buf *b, const struct msg_box_directory *d)
{
	bool detail = *d->parent_key != '\0';

	json_open(b, '{');
	json_key_str(b, "key", d->key);
	json_key_str(b, "path", d->path);
	json_key_str(b, "kind", detail ? "detail" : "root");
	if (detail && d->inside)
		json_key_str(b, "parent_key", d->parent_key);
	json_key_bool(b, "exists", d->amount.exists);
	json_key_u64(b, "size_bytes", d->amount.size_bytes);
	json_key_u64(b, "file_count", d->amount.files);
	json_key_u64(b, "error_count", d->amount.errors);
	if (detail && !d->inside)
		json_key_str(b, "parent_key", d->parent_key);
	json_key_str(b, "scope", d->inside ? "sandbox_sessions" : "runtime_host");
	json_close(b, '}');
}

void
shape_storage(struct buf *b, const struct asked *asked, const void *result)
{
	const struct msg_box_storage_result *r = result;

	json_open(b, '{');
	json_key_u64(b, "size_bytes", r->size_bytes);
	json_key(b, "directories");
	json_open(b, '[');
	for (size_t i = 0; i < r->directories.n; i++) {
		json_item(b);
		put_directory(b, &r->directories.v[i]);
	}
	json_close(b, ']');
	json_key_u64(b, "active_sessions", r->active_sessions);
	json_key_u64(b, "managed_processes", r->managed_processes);
	json_close(b, '}');
}

void
shape_marker(struct buf *b, const struct asked *asked, const void *result)
{
	const struct msg_box_marker *r = result;

	json_open(b, '{');
	json_key(b, "marker_name");
	buf_append(b, asked->answer.data, asked->answer.len); /* JSON already */
	json_key_str(b, "sha256", r->sha256);
	json_key_u64(b, "size", r->size_bytes);
	json_close(b, '}');
}

void
shape_grant(struct buf *b, const struct asked *asked, const void *result)
{
	const struct msg_box_grant *r = result;

	json_open(b, '{');
	json_key_bool(b, "installed", true);
	json_key_str(b, "workspace_uuid", r->workspace);
	json_key_u64(b, "execution_generation", r->generation);
	json_key_u64(b, "entitlement_revision", r->revision);
	json_key_u64(b, "max_sessions", r->max_sessions);
	json_key_u64(b, "max_managed_processes", r->max_managed_processes);
	shape_time(b, "expires_at", r->expires_us, "+00:00");
	json_close(b, '}');
}
