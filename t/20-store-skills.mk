20-store-skills_EXTRA := t/lib/storebox t/lib/workbox proto/rmtree
