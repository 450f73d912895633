#include "host/nft.h"

#include <dlfcn.h>
#include <nftables/libnftables.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libnftables.so.1"

static struct {
	struct nft_ctx *(*ctx_new)(uint32_t);
	void (*ctx_free)(struct nft_ctx *);
	int (*buffer_error)(struct nft_ctx *);
	const char *(*error)(struct nft_ctx *);
	int (*run)(struct nft_ctx *, const char *);
} nft;

int
nft_load(struct err *e)
{
	const struct {
		const char *name;
		void       *to;
	} calls[] = {
		{ "nft_ctx_new", &nft.ctx_new },
		{ "nft_ctx_free", &nft.ctx_free },
		{ "nft_ctx_buffer_error", &nft.buffer_error },
		{ "nft_ctx_get_error_buffer", &nft.error },
		{ "nft_run_cmd_from_buffer", &nft.run },
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL)
		return err_set(
		    e, E_BACKEND, "network: on needs %s: %s; remedy: install libnftables", LIBRARY, dlerror());
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		void *found = dlsym(library, calls[i].name);

		if (found == NULL)
			return err_set(e, E_BACKEND, "network: on: %s has no %s", LIBRARY, calls[i].name);
		memcpy(calls[i].to, &found, sizeof(found));
	}
	return 0;
}

/* why: where the reason goes, without the line that the library believes it is about: it is always the first. */
static int
run(const char *commands, char *why, size_t size)
{
	struct nft_ctx *ctx = nft.ctx_new(NFT_CTX_DEFAULT);

	if (ctx == NULL) {
		snprintf(why, size, "no memory");
		return -1;
	}
	nft.buffer_error(ctx);
	int r = nft.run(ctx, commands);
	if (r != 0) {
		const char *said = nft.error(ctx), *error = strstr(said, "Error: ");

		said = error == NULL ? said : error + strlen("Error: ");
		snprintf(why, size, "%.*s", (int)strcspn(said, "\n"), said);
	}
	nft.ctx_free(ctx);
	return r == 0 ? 0 : -1;
}

int
nft_run(const char *commands, struct err *e)
{
	char why[128];

	return run(commands, why, sizeof(why)) == 0 ? 0 : err_set(e, E_BACKEND, "nftables: %s", why);
}

/* One after the other, up to the one that is refused. */
static int
blame(const char *commands, struct err *e)
{
	char why[128], line[2048];

	for (const char *p = commands, *end; *p != '\0'; p = *end == '\0' ? end : end + 1) {
		end = strchrnul(p, '\n');
		snprintf(line, sizeof(line), "%.*s\n", (int)(end - p), p);
		if ((size_t)(end - p) < sizeof(line) - 1 && run(line, why, sizeof(why)) == -1)
			return err_set(e, E_BACKEND, "nftables refuses \"%.*s\": %s",
			    (int)(end - p > 120 ? 120 : end - p), p, why);
	}
	return -1;
}

int
nft_fill(const char *commands, struct err *e)
{
	if (nft_run(commands, e) == 0)
		return 0;
	return blame(commands, e);
}
