00-frontmatter_EXTRA := workers/store/front workers/store/yamltree workers/store/scalar workers/store/text
00-frontmatter_LIBS := -lyaml
fuzz_frontmatter_EXTRA := workers/store/front workers/store/yamltree workers/store/scalar workers/store/text
fuzz_frontmatter_LIBS := -lyaml
