/*
 * Every size, count and time that is not an operator's choice, with its reason.
 * What an operator may choose is in supervisor/config/config.def.
 */
#pragma once

#define KIB 1024UL
#define MIB (1024UL * KIB)

/* Channels between our processes */
#define LIM_PACKET (64 * KIB)      /* one SEQPACKET packet; a larger message travels in a sealed memfd */
#define LIM_BLOB_INLINE (16 * KIB) /* a larger payload rides beside its message; copying is cheaper below */
#define LIM_MESSAGE (24 * MIB)     /* largest message of all: a 16 MiB stdin and room around it */
#define LIM_PACKET_FDS 13          /* descriptors beside one packet */
#define LIM_LINK_QUEUE 16384       /* packets waiting for a peer that does not read: then it is stuck */
#define LIM_LINK_BURST 32          /* packets handled before other watchers get their turn */
#define LIM_MOUNTSETS 256      /* mount namespaces of commands, kept for the next: a descriptor and some 10 KiB each */
#define LIM_MOUNTSET_SEC 60.   /* so long unused: what is mounted in it cannot be unmounted on the host meanwhile */
#define LIM_SOURCES (16 * KIB) /* what is mounted in one, as text: 256 times 63 bytes */
#define LIM_DEPTH 16           /* nesting of a MessagePack value; ours need 5 */
#define LIM_VALUES (1UL << 20) /* values in one message: decoded each takes 24 bytes; a full list needs 600000 */

/* Fields */
#define LIM_NAME 255             /* a session's name: also a log field and a table column */
#define LIM_ARG (128 * KIB - 1)  /* the kernel's MAX_ARG_STRLEN, less its NUL */
#define LIM_COMMAND MIB          /* a shell command; what is over LIM_ARG the shell reads from a descriptor */
#define LIM_COMMANDS (128 * MIB) /* LangBot's commands over LIM_ARG that wait or run, all together: boxd keeps them */
#define LIM_ARGS 65536           /* argv entries; the kernel's ARG_MAX bounds their bytes */
#define LIM_ENV 4096             /* environment entries */
#define LIM_PATH 4095            /* PATH_MAX, less its NUL */
#define LIM_TEXT 4096            /* a sentence for a person */
#define LIM_STDIN (16 * MIB)     /* stdin bytes that come with an exec */
#define LIM_KEEP (64 * MIB)      /* most output kept for one stream of one exec */
#define LIM_OUTPUT (16 * MIB)    /* the same of LangBot's: all of a reply must fit LIM_WS_MESSAGE */
#define LIM_WINDOW (4 * MIB)     /* most unacknowledged bytes of one stream */
#define LIM_TIMEOUT_MS (7UL * 86400 * 1000)
#define LIM_MEMORY_MB (1UL << 20)
#define LIM_MEMORY_MIN_MB 16 /* below it not even a shell and its libraries fit */
#define LIM_SLIRP_MB 64      /* memory of a session's slirp4netns, beside its commands' */
#define LIM_INIT_MB 16       /* memory of a sandbox's init beside its commands': it holds their output */

#define LIM_SOCKETS_SHARE 4       /* a session's memory divided by this may be in buffers of its sockets */
#define LIM_SOCKETS_MIN (8 * MIB) /* and this much in any case: two connections at full speed */
#define LIM_SOCKETS_WATCHED 2     /* so often that share: then commands are ended.  The kernel may pass it a little */
#define LIM_NETLINKS 64           /* netlink sockets of one session: nobody counts their buffers */
#define LIM_LOCKS 16384           /* locks on files of one session: nobody counts these either */
#define LIM_GUARD_MS 250          /* between two looks at what is not counted, while commands run */
#define LIM_GUARD_STREAM (128 * KIB)  /* what came over a connection that nobody has accepted */
#define LIM_GUARD_DATAGRAM (64 * KIB) /* a datagram that is being put together */
#define LIM_GUARD_SOCKET (192 * KIB)  /* either, and more: fewer sockets than could hold too much are not looked at */
#define LIM_GUARD_UNCOUNTED (8 * MIB) /* the same where the kernel does not count buffers: SO_SNDBUF makes them large */
#define LIM_GUARD_SLAB (32 * MIB)     /* growth of the kernel's own memory, of all sessions, before locks are counted */

#define LIM_PIDS 32768
#define LIM_PIDS_MIN 4 /* init, a shell, and a pipeline of two */
#define LIM_CPUS 1024
#define LIM_DISK_MB (1UL << 24)
#define LIM_NOFILE (1UL << 20) /* the kernel's own nr_open */
#define LIM_TEMPLATES 16       /* empty file systems kept to copy, one per size asked for; under a megabyte each */
#define LIM_ENTRIES 1000000UL  /* files in a host path with a quota, at most: each is looked at by every scan */
#define LIM_IDLE_SEC (30UL * 86400)
#define LIM_SESSIONS 5000    /* 65536 uids each still fit 32 bits; four descriptors each, three more with a network */
#define LIM_EXECS 1024       /* running commands of one session */
#define LIM_SLOTS (1 << 20)  /* numbers of a session's cgroups for commands; background processes keep theirs */
#define LIM_MOUNTS 256       /* extra_mounts; LangBot mounts one per skill */
#define LIM_PATH_RULES 1024  /* for host paths: a full mounts.allow, a full mounts.block, and our own */
#define LIM_TENANT_ROOTS 128 /* directories that hold workspaces, of earlier configurations too */
#define LIM_ALL_RULES (LIM_PATH_RULES + 2 * LIM_TENANT_ROOTS + LIM_MOUNT_ROOTS + 8) /* all that one worker gets */
#define LIM_LINKS 40           /* symlinks on the way of a path, as the kernel has it */
#define LIM_REQUIRE 32         /* walls that can be required; there are fewer */
#define LIM_PROCESSES 256      /* managed processes of one session, ended ones included */
#define LIM_PREVIEW (16 * KIB) /* of a process's stderr: 4000 characters of up to four bytes */
#define LIM_RING (4 * MIB) /* most of a process's standard output that is held; in init, so in the session's memory */
#define LIM_RING_DEFAULT (256 * KIB)
#define LIM_RING_SPARE (64 * KIB) /* kept beside a whole line: what was written before and behind it */
#define LIM_RINGS (256 * MIB)     /* of all processes that keep whole lines for LangBot's relays */
#define LIM_ABOUT (256 * KIB)     /* argv, env and policy of a process, kept in init for the next worker */
#define LIM_WRITE MIB             /* bytes of one process_write, and waiting for one process */
#define LIM_WRITES 64             /* writes waiting for one process */
#define LIM_FEED (16 * KIB)       /* of that on its way through init; a larger payload would cost a memfd each */
#define LIM_READY_LINE 4096       /* of a line that is compared with ready_pattern */
#define LIM_FILES 1000            /* entries of a directory in one answer */
#define LIM_FILE_CHUNK MIB        /* bytes of a file in one message */

#define LIM_FILTER_RULES 1024 /* of a seccomp policy; ours has about 460, and the kernel takes 4096 instructions */
/* Files of a session, and box-files that serves them */
#define LIM_SPAWNS (LIM_EXECS + LIM_PROCESSES + 8) /* what init runs and keeps: all of these, and helpers of ours */
#define LIM_FILES_BYTES MIB                        /* names and targets in one answer; then it ends early */
#define LIM_FILE_HANDLES 64                        /* files open for reading or writing in one session */
#define LIM_FILE_HANDLE_SEC 60     /* one that nobody reads or writes is closed, and what was not committed is gone */
#define LIM_FILE_REMOVE_SEC 120    /* removing a tree; then the client must ask again, so that others get a turn */
#define LIM_FILES_BUSY 8           /* requests in the hands of box-files: a chunk each fits the smallest sandbox */
#define LIM_FILES_WAITING 256      /* requests behind those; each may hold a descriptor of its worker */
#define LIM_FILES_ANSWER_SEC 300.0 /* for one request: then box-files is stuck or stopped, and is killed */
#define LIM_FILES_IDLE_SEC 65.0    /* box-files without a request ends; longer than any handle it may have */

/* Clients */
#define LIM_CONN_INFLIGHT 128   /* requests of one connection that wait for their reply */
#define LIM_CONN_CANCELS 4      /* of LangBot's cancels, beside those */
#define LIM_CONN_OUT (64 * MIB) /* bytes queued for a client that does not read: then it is dropped */
#define LIM_CONN_HIGH (4 * MIB) /* from here on its requests are not read */
#define LIM_CONN_LOW MIB        /* and who waits to say more to it may go on */
#define LIM_FRAME_SEC 10.0      /* from the first byte of a frame to its last */
#define LIM_HELLO_SEC 10.0      /* from connecting to the first whole frame */
#define LIM_STALL_SEC 30.0      /* output waits and the client takes not one byte */

/* One mount too many can be sent over LangBot's door: it is refused in LangBot's words. */
#define LIM_BOX_MOUNTS (LIM_MOUNTS + 1)

/* LangBot's door */
#define LIM_TENANT 512             /* an instance's or workspace's id; those of LangBot are UUIDs */
#define LIM_TOKEN 4096             /* a presented secret */
#define LIM_CHECKS 32              /* of readiness; there are 15 */
#define LIM_MOUNT_ROOTS 256        /* allowed_mount_roots */
#define LIM_JSON_CONTAINERS 131072 /* arrays and objects in a client's JSON: read, each takes 250 bytes */
#define LIM_JSON_DEPTH 64          /* nesting of a client's JSON; the deepest action has 6 */
#define LIM_WS_MESSAGE (16 * MIB)  /* of a WebSocket, in both directions, as LangBot's client has it */
#define LIM_WS_FRAGMENTS 4096      /* of one such message */
#define LIM_RELAY_LINE MIB         /* the longest message LangBot's client takes from a relay */
#define LIM_RELAY_CHUNK (64 * KIB) /* a relay's message without lines, as upstream reads */
#define LIM_RELAY_LINE_MOST (LIM_WINDOW - LIM_RELAY_CHUNK) /* a line is acknowledged whole, so it must fit a window */
#define LIM_HTTP_HEADER (16 * KIB)                         /* request line and headers */
#define LIM_HTTP_IDLE_SEC 20.0                             /* from an answer to the first byte of the next request */
#define LIM_HTTP_REQUESTS 1000                             /* of one connection; the last answer says so */
#define LIM_PART_SEC 5.0                                   /* a client that was told goodbye closes too within this */
#define LIM_WS_CLOSE_SEC 10.0                              /* and answers a close frame within this */
#define LIM_WS_SILENCE_SEC 30.0       /* a relay's client that says nothing for so long is pinged */
#define LIM_WS_PONG_SEC 15.0          /* and answers within this */
#define LIM_WS_BACKLOG (256 * KIB)    /* messages kept for a guest that does not want them now; then it is not read */
#define LIM_UPLOAD (100 * MIB)        /* one uploaded file, whatever box_init says */
#define LIM_UPLOADS 128               /* files of one connection that are being uploaded */
#define LIM_UPLOAD_CHUNK (16 * KIB)   /* bytes of one chunk */
#define LIM_UPLOADS_BYTES (256 * MIB) /* of all connections together: they are the gateway's memory */
#define LIM_UPLOAD_COST (256 * KIB)   /* what each counts there beside its bytes: it takes a descriptor, too */

/* Skills */
#define LIM_SKILL_NAME 256           /* bytes of 64 characters */
#define LIM_SKILL_COUNT (1L << 62)   /* a number of files that is asked for; box-store has the real limit */
#define LIM_SKILL_TEXT MIB           /* of one file, as upstream has it */
#define LIM_SKILL_UPLOAD (16 * MIB)  /* what can come in a message; refused by box-store, with its own words */
#define LIM_SKILLS 1000              /* packages of one workspace */
#define LIM_SKILL_ENTRIES 10000      /* of directories that are looked through for packages, or of one that is listed */
#define LIM_SKILL_LIST (16 * MIB)    /* text in one list of skills */
#define LIM_SKILL_ARCHIVE (20 * MIB) /* an uploaded archive, and what is compressed in it */
#define LIM_ZIP_ENTRIES 512          /* in an archive */
#define LIM_ZIP_ENTRY (16 * MIB)     /* one of them, unpacked */
#define LIM_ZIP_TOTAL (64 * MIB)     /* all of them, unpacked */
#define LIM_ZIP_RATIO 100            /* unpacked against packed */
#define LIM_STORE_BUSY 4             /* requests that box-store works on at one time; of one workspace one */
#define LIM_STORE_WAITING 256        /* requests behind those; each may hold an archive */
#define LIM_STORE_BYTES (256 * MIB)  /* of all of them: archives are memory, also when their client has left */
#define LIM_STORE_JOB_SEC 60.0       /* one of them: the largest archive takes a few seconds */
#define LIM_STORE_START_SEC 10.0     /* until a new box-store says that it stands; LangBot waits 15 for box_init */
#define LIM_STORE_ANSWER_SEC 90.0    /* without any answer while some are due: then box-store hangs, and is killed */

/* Verified copies of digest-addressed mounts, and box-artifact that makes them */
#define LIM_DIGEST (7 + 64)               /* sha256: and its digits */
#define LIM_ARTIFACT_MANIFEST (4 * MIB)   /* bytes of a manifest, as upstream has it; so are the next two */
#define LIM_ARTIFACT_FILES 2048           /* in one artifact */
#define LIM_ARTIFACT_BYTES (256 * MIB)    /* of them */
#define LIM_ARTIFACT_DIRS 4096            /* directories of one artifact */
#define LIM_ARTIFACT_CACHE_FILES 100000UL /* files and directories in the cache of one workspace */
#define LIM_ARTIFACT_REVISIONS 4096       /* artifacts in the cache of one workspace, whatever boxd.conf says */
#define LIM_ARTIFACT_BUSY 4               /* copies made at one time; of one workspace one */
#define LIM_ARTIFACT_WAITING 256          /* copies that wait behind those */
#define LIM_ARTIFACT_SEC 60.0             /* to make one; then box-artifact is killed */

/* Agents without LangBot */
#define LIM_AGENT_CHARACTERS 4000 /* of each stream that an agent is shown, as LangBot has it */
#define LIM_RECENT_ERRORS 50      /* kept to be asked for, of all workspaces together */
/* Volumes, and box-pool that makes them */
#define LIM_VOLUME_MB 16   /* the least: a journal takes 4 of them */
#define LIM_VOLUMES 10000  /* told at once */
#define LIM_POOL_SEC 300.0 /* for one request: then box-pool is stuck, and is killed */
#define LIM_TRIAL_SEC 60.0 /* for a try of the sandbox, and for box-store's of the skills */

/* Network, and box-egress that lets sessions out */
#define LIM_DNS_NAME 254          /* a name as text, without the dot at its end */
#define LIM_NET_RULE 512          /* one rule as text: a name and a few words */
#define LIM_NET_RULES 4096        /* of one list */
#define LIM_NET_SETS 64           /* sections of the file of rules */
#define LIM_NET_DENIALS 16        /* told of one session: the last */
#define LIM_NET_FLOWS 64          /* open connections that are listed */
#define LIM_RESOLVERS 8           /* that are asked; resolv.conf(5) knows three */
#define LIM_EGRESS_START_SEC 10.0 /* until a new box-egress says that it stands */
#define LIM_EGRESS_LOOK_SEC 2.0   /* a result waits no longer for what was refused meanwhile */
#define NET_PORT \
	1021 /* in the namespace, all that goes out is redirected here; privileged, so nobody inside can take it */
#define NET_PER_SEC 2000    /* new connections of one session in a second: each is tracked by the kernel, and */
#define NET_BURST 4000      /* that memory is nobody's; more than this at once gets resets */
#define NET_DNS_PER_SEC 200 /* the same for DNS by TCP, which a sandbox has on its own loopback */
#define NET_DNS_BURST 400
#define NET_SCARCE_PER_SEC 5 /* new connections of one session while the host tracks half of what it can */
#define NET_SCARCE_BURST 20
#define SLIRP_DNS "10.0.2.3" /* what slirp4netns calls its own resolver in the namespace */
#define NET_LOG_GROUP 1      /* of netlink: where the namespace reports what it refuses */
#define NET_TOO_FAST "rate"  /* the prefix of those among its refusals */

/* Counting what a workspace holds, for people to look at */
#define LIM_USAGE_ENTRIES \
	1000000UL               /* of one session, and of a workspace's directory on the host; then the count is cut */
#define LIM_USAGE_MS 5000UL     /* and so much time for them */
#define LIM_USAGE_WAIT_SEC 15.0 /* for all answers; what has not come by then is reported as an error */
#define LIM_USAGE_BUSY 8        /* sessions that are counted at one time for one request */
#define LIM_USAGE_PENDING 4     /* counts that wait in one session: box-files is stuck, or stopped */

/* Watching a workspace on the host */
#define LIM_SCAN_DEPTH \
	256 /* directories below directories: a descriptor and a buffer each; deeper counts as too much */
#define LIM_SCAN_OPEN 1000000 /* descriptors and mappings looked at for files without a name; more counts as too much */
#define LIM_SCAN_NAMELESS 100000 /* of these files, all different; more counts as too much */
#define LIM_SCAN_HIDDEN \
	20 /* scans in a row that find descriptors waiting in sockets, where no file can be measured; then it is too much */
#define LIM_SCAN_MB 8         /* memory of those who look, beside the table of files: code, stacks, page tables */
#define LIM_SCAN_REST 4       /* a scan's own time, so often, is waited before the next: a fifth of a cpu at most */
#define LIM_SCAN_MIN_SEC 0.1  /* between two scans, however fast */
#define LIM_SCAN_MAX_SEC 10.0 /* and however slow */
#define LIM_MEASURE_SEC 30.0  /* one scan; without an answer by then nothing may run */

/* State files */
/* A session has LIM_MOUNTS mounts of three long paths each, and 64 roots. */
#define LIM_STATE (MIB + LIM_MOUNTS * (3UL * LIM_PATH + 256))

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
