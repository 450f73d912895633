20-store-skills_EXTRA := t/lib/storebox proto/rmtree
