#include "nft.h"

#include <dlfcn.h>
#include <nftables/libnftables.h>
#include <stdint.h>
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

int
nft_run(const char *rules, struct err *e)
{
	struct nft_ctx *ctx = nft.ctx_new(NFT_CTX_DEFAULT);

	if (ctx == NULL)
		return err_set(e, E_SYS, "nftables: no context");
	nft.buffer_error(ctx);
	int r = nft.run(ctx, rules);
	if (r != 0) {
		const char *why = nft.error(ctx);
		size_t      n = strcspn(why, "\n");

		err_set(e, E_BACKEND,
		    "network: on needs nftables with nat, redirect, reject and fib in the kernel, which says: %.*s; "
		    "remedy: "
		    "modprobe nft_redir nft_reject_inet nft_fib_inet, or network_on = slirp",
		    (int)(n > 200 ? 200 : n), why);
	}
	nft.ctx_free(ctx);
	return r == 0 ? 0 : -1;
}
