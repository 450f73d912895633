/* Hashes of what strangers choose: with a key of this process, so that nobody can choose what collides. */
#pragma once

#include <sodium.h>
#include <stdint.h>

struct hash_key {
	uint8_t bytes[crypto_shorthash_KEYBYTES];
};

static inline void
hash_key_make(struct hash_key *k)
{
	crypto_shorthash_keygen(k->bytes);
}

static inline uint64_t
hash_of(const struct hash_key *k, const void *data, size_t n)
{
	uint64_t hash;

	crypto_shorthash((uint8_t *)&hash, data, n, k->bytes);
	return hash;
}
