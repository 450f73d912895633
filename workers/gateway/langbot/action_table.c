#include <string.h>

#include "langbot/action.h"

/* clang-format off */
static const struct action table[] = {
	{ "__ping",                             true,  MSG_BOX_PING, NULL, NULL },
	{ "__file_chunk",                       true,  MSG_NONE, read_chunk, NULL },
	{ "__cancel_action",                    false, MSG_BOX_CANCEL, read_cancel, shape_cancelled },
	{ "__stream_ack",                       false, MSG_NONE, read_stream_ack, NULL },
	{ "box_init",                           true,  MSG_BOX_INIT, read_init, NULL },
	{ "box_health",                         true,  MSG_BOX_HEALTH, NULL, shape_health },
	{ "box_get_backend_info",               true,  MSG_BOX_BACKEND_INFO, NULL, shape_backend },
	{ "box_verify_shared_workspace",        true,  MSG_BOX_VERIFY_WORKSPACE, read_verify, shape_marker },
	{ "box_upsert_sandbox_admission_grant", true,  MSG_BOX_UPSERT_GRANT, read_grant, shape_grant },
	{ "box_revoke_sandbox_admission_grant", true,  MSG_BOX_REVOKE_GRANT, read_revoke, NULL },
	{ "box_shutdown",                       true,  MSG_BOX_SHUTDOWN, NULL, NULL },
	{ "box_status",                         false, MSG_BOX_STATUS, NULL, shape_status },
	{ "box_get_storage_analysis",           false, MSG_BOX_STORAGE, NULL, shape_storage },
	{ "box_exec",                           false, MSG_BOX_EXEC, read_exec, shape_result },
	{ "box_create_session",                 false, MSG_BOX_CREATE, read_create, shape_session },
	{ "box_get_session",                    false, MSG_BOX_GET, read_get, shape_session },
	{ "box_get_sessions",                   false, MSG_BOX_LIST, NULL, shape_sessions },
	{ "box_delete_session",                 false, MSG_BOX_DELETE, read_delete, NULL },
	{ "box_start_managed_process",          false, MSG_BOX_PROCESS_START, read_process_start, shape_process },
	{ "box_get_managed_process",            false, MSG_BOX_PROCESS_GET, read_process_get, shape_process },
	{ "box_stop_managed_process",           false, MSG_BOX_PROCESS_STOP, read_process_stop, NULL },
	{ "box_list_skills",                    false, MSG_SKILL_LIST, NULL, shape_skills },
	{ "box_get_skill",                      false, MSG_SKILL_GET, read_skill_get, shape_skill_found },
	{ "box_create_skill",                   false, MSG_SKILL_CREATE, read_skill_create, shape_skill },
	{ "box_update_skill",                   false, MSG_SKILL_UPDATE, read_skill_update, shape_skill },
	{ "box_delete_skill",                   false, MSG_SKILL_DELETE, read_skill_delete, NULL },
	{ "box_scan_skill_directory",           false, MSG_SKILL_SCAN, read_skill_scan, shape_skill_itself },
	{ "box_list_skill_files",               false, MSG_SKILL_FILES, read_skill_files, shape_skill_entries },
	{ "box_read_skill_file",                false, MSG_SKILL_READ, read_skill_read, shape_skill_file },
	{ "box_write_skill_file",               false, MSG_SKILL_WRITE, read_skill_write, shape_skill_written },
	{ "box_preview_skill_zip",              false, MSG_SKILL_PREVIEW, read_skill_preview, shape_skill_previews },
	{ "box_install_skill_zip",              false, MSG_SKILL_INSTALL, read_skill_install, shape_skills },
};
/* clang-format on */

const struct action *
action_find(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strlen(table[i].name) == n && memcmp(table[i].name, name, n) == 0)
			return &table[i];
	return NULL;
}

const struct action *
action_at(size_t i)
{
	return i < sizeof(table) / sizeof(*table) ? &table[i] : NULL;
}
