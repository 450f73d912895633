00-nft_EXTRA := $(NFT)
00-nft_LIBS := -ldl
