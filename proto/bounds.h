/*
 * Every size, count and time that is not an operator's choice, with its reason.
 * What an operator may choose is in supervisor/config.def.
 */
#ifndef PROTO_BOUNDS_H
#define PROTO_BOUNDS_H

#define KIB 1024UL
#define MIB (1024UL * KIB)

/* Channels between our processes */
#define LIM_PACKET (64 * KIB)      /* one SEQPACKET packet; a larger message travels in a sealed memfd */
#define LIM_BLOB_INLINE (16 * KIB) /* a larger payload rides beside its message; copying is cheaper below */
#define LIM_MESSAGE (24 * MIB)     /* largest message of all: a 16 MiB stdin and room around it */
#define LIM_PACKET_FDS 8           /* descriptors beside one packet */
#define LIM_LINK_QUEUE 16384       /* packets waiting for a peer that does not read: then it is stuck */
#define LIM_LINK_BURST 32          /* packets handled before other watchers get their turn */
#define LIM_DEPTH 16               /* nesting of a MessagePack value; ours need 5 */
#define LIM_VALUES (1UL << 20)     /* values in one message: decoded each takes 24 bytes; a full list needs 600000 */

/* Fields */
#define LIM_NAME 128                /* a session's name: also a log field and a table column */
#define LIM_COMMAND (128 * KIB - 1) /* the kernel's MAX_ARG_STRLEN, less its NUL */
#define LIM_ARGS 65536              /* argv entries; the kernel's ARG_MAX bounds their bytes */
#define LIM_ENV 4096                /* environment entries */
#define LIM_PATH 4095               /* PATH_MAX, less its NUL */
#define LIM_TEXT 4096               /* a sentence for a person */
#define LIM_STDIN (16 * MIB)        /* stdin bytes that come with an exec */
#define LIM_KEEP (64 * MIB)         /* most output kept for one stream of one exec */
#define LIM_WINDOW (4 * MIB)        /* most unacknowledged bytes of one stream */
#define LIM_TIMEOUT_MS (7UL * 86400 * 1000)
#define LIM_MEMORY_MB (1UL << 20)
#define LIM_MEMORY_MIN_MB 16 /* below it not even a shell and its libraries fit */
#define LIM_PIDS 32768
#define LIM_PIDS_MIN 4 /* init, a shell, and a pipeline of two */
#define LIM_CPUS 1024
#define LIM_DISK_MB (1UL << 24)
#define LIM_IDLE_SEC (30UL * 86400)
#define LIM_SESSIONS 5000      /* 65536 uids each still fit 32 bits, and three descriptors each 20000 */
#define LIM_EXECS 1024         /* running commands of one session */
#define LIM_SLOTS (1 << 20)    /* numbers of a session's cgroups for commands; background processes keep theirs */
#define LIM_MOUNTS 64          /* extra_mounts; LangBot mounts one per skill */
#define LIM_REQUIRE 32         /* walls that can be required; there are fewer */
#define LIM_PROCESSES 256      /* managed processes of one session, ended ones included */
#define LIM_PREVIEW (16 * KIB) /* of a process's stderr: 4000 characters of up to four bytes */
#define LIM_RING (4 * MIB) /* most of a process's standard output that is held; in init, so in the session's memory */
#define LIM_RING_DEFAULT (256 * KIB)
#define LIM_ABOUT (256 * KIB) /* argv, env and policy of a process, kept in init for the next worker */
#define LIM_WRITE MIB         /* bytes of one process_write, and waiting for one process */
#define LIM_WRITES 64         /* writes waiting for one process */
#define LIM_FEED (16 * KIB)   /* of that on its way through init; a larger payload would cost a memfd each */
#define LIM_READY_LINE 4096   /* of a line that is compared with ready_pattern */
#define LIM_FILES 1000        /* entries of a directory in one answer */
#define LIM_FILE_CHUNK MIB    /* bytes of a file in one message */

/* Clients */
#define LIM_CONN_INFLIGHT 128   /* requests of one connection that wait for their reply */
#define LIM_CONN_OUT (64 * MIB) /* bytes queued for a client that does not read: then it is dropped */
#define LIM_CONN_HIGH (4 * MIB) /* from here on its requests are not read */
#define LIM_FRAME_SEC 10.0      /* from the first byte of a frame to its last */
#define LIM_HELLO_SEC 10.0      /* from connecting to the first whole frame */
#define LIM_STALL_SEC 30.0      /* output waits and the client takes not one byte */

/* Life of processes */
#define LIM_BUILD_SEC 20.0   /* until a sandbox is ready; thousands of times the usual */
#define LIM_CLOSE_SEC 20.0   /* until a sandbox is gone; a process in disk sleep can take this long */
#define LIM_OVERDUE_SEC 10.0 /* init's answer to a timeout or a cancel; then init itself is hung */
#define LIM_PULSE_SEC 20.0   /* between two questions to init while commands run; the second unanswered ends it */
#define LIM_PAUSE_SEC 10.0   /* until every process has stopped; one in disk sleep can take this long */
#define LIM_ORPHAN_MS 60000  /* init without any master ends itself */
#define LIM_GRACE_SEC 5.0    /* from SIGTERM to the end of a managed process's tree */
#define LIM_LINGER_SEC 30.0  /* for the reader of a stopped process to take the rest of its output */
#define LIM_STOP_SEC 10.0    /* SIGTERM to the last sandbox gone, before the hard way */

#endif
