00-stdio-frames_EXTRA := boxctl/stdio_frames
00-stdio-frames_LIBS := $(call libs,json-c)
