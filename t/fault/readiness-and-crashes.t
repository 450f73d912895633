#!/bin/sh
# Whoever dies in the middle of a trial, nothing of it is left, and the next one is whole.
. t/lib/sh/boxd.sh
. t/lib/sh/pool.sh
need_pool
mkdir "$D/w" "$D/skills"
boxd_config 'spare_sandboxes = 0' 'pool_workspace_mb = 32' 'unsafe_soft_storage_limits = yes'
boxd_start
strict '"readiness_cache_sec": 0' >/dev/null
is "$(host health | field ready)" true "a trial"

# A trial that is stopped in the middle: its command hangs in the sandbox's init.
trial() { boxctl ps -o json | field session | grep -m1 '^readiness-'; }
running() { _t=$(trial) && boxctl inspect "$_t" -o json 2>/dev/null | grep -q '"running": 1'; }
begin() { # until a trial's command runs; init is stopped, so that it does not end
	while :; do
		host health >"$D/health" 2>&1 &
		job=$!
		until running || ! kill -0 $job 2>/dev/null; do :; done
		name=$(trial) && init=$(boxctl inspect "$name" -o json 2>/dev/null | field init_pid) && [ -n "$init" ] && kill -STOP "$init" 2>/dev/null && running && break
		[ -n "$init" ] && kill -CONT "$init" 2>/dev/null
		wait $job
	done
	worker=$(boxctl inspect "$name" -o json | field worker_pid)
}
clean() { [ -z "$(ls -A "$D/w/tenants")" ] && ! grep -q " $D/w/tenants/readiness" /proc/self/mounts && [ -z "$(boxctl ps --names)" ]; }
pool_pid() { pgrep -P "$BOXD_PID" -x box-pool; }

# ---- the session's worker ----
begin
kill -9 "$worker"
kill -CONT "$init"
wait $job
is "$(field ready <"$D/health")" true "its worker dies: another takes over, and the trial comes to its end"
eventually clean
ok "nothing is left"

# ---- its init ----
begin
kill -9 "$init"
wait $job
like "$(cat "$D/health")" 'not ready' "its init dies: it is not ready"
eventually clean
ok "nothing is left"
is "$(host health | field ready)" true "the next trial is whole"

# ---- box-pool ----
begin
kill -9 "$(pool_pid)"
kill -CONT "$init"
wait $job
like "$(cat "$D/health")" 'not ready' "box-pool dies: it is not ready"
is "$(host health | field ready)" true "the next trial is whole"
eventually clean
ok "and what the dead one had mounted is gone"

# ---- boxd ----
begin
kill -CONT "$init"
vanish "$BOXD_PID"
wait $job
gone() { [ -z "$(ls -A "$D/w/tenants")" ]; }
eventually gone
ok "boxd dies: box-pool cleans up behind it"

# ---- both ----
boxd_start
strict '"readiness_cache_sec": 0' >/dev/null
begin
kill -CONT "$init"
kill -9 "$(pool_pid)"
vanish "$BOXD_PID"
wait $job
boxd_start
ok "both die: the next start cleans up" gone
eventually clean
ok "and the session that was left is gone, too"
strict '"readiness_cache_sec": 0' >/dev/null
is "$(host health | field ready)" true "a trial is whole again"

# ---- boxd is told to stop ----
begin
kill -CONT "$init"
boxd_stop
wait $job
eventually gone
ok "a stop in the middle leaves nothing"
done_testing
