/*
 * boxd as main.c builds it: what the actors need of each other.  main owns all
 * of it; everybody else borrows.
 */
#pragma once

#include <assert.h>
#include <assert.h>
#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct admission;
struct agent;
struct artifacts;
struct asks;
struct dirs;
struct auth;
struct egress;
struct errorring;
struct gateway;
struct langbot;
struct machine;
struct mounter;
struct mountrules;
struct pool;
struct readiness;
struct registry;
struct spares;
struct store;
struct tenancy;
struct tenantroots;

struct boxd {
	struct ev_loop       *loop;
	const struct config  *config;
	const struct dirs    *dirs;
	const struct machine *machine;
	struct mountrules    *mountrules;
	struct mounter       *mounter;
	struct gateway       *gateway;
	struct registry      *registry;
	struct spares        *spares;
	struct asks          *asks;
	struct auth          *auth;
	struct egress        *egress;
	struct tenancy       *tenancy;
	struct tenantroots   *tenantroots;
	struct admission     *admission;
	struct langbot       *langbot;
	struct store         *store;
	struct artifacts     *artifacts;
	struct errorring     *errors; /* the last ones, for agent_errors */
	struct agent         *agent;
	struct pool          *pool;
	struct readiness     *readiness;
	bool                  stopping;
	double                started;
	uint64_t              next_id; /* of sessions and commands; from the clock, so never reused */

	/* counted for status */
	uint64_t execs;
	uint64_t running;
	uint64_t processes; /* managed ones that live */
	uint64_t starting;  /* and those whose worker has not answered yet */
	uint64_t worker_restarts;
};

static inline uint64_t
boxd_next_id(struct boxd *h)
{
	return h->next_id++;
}

/* No counter goes below zero. */
static inline void
counter_sub(uint64_t *counter, uint64_t n)
{
	assert(*counter >= n);
	*counter -= n;
}
