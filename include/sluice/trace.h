/* The trace file: what lies where. docs/trace-format.md says it in words.
 *
 * All numbers are little endian. A file is one header and then blocks, each with a checksum, so that a file
 * that was cut anywhere can be read up to its last whole block. A file whose program ended normally has an
 * SLUICE_TRACE_END record last.
 *
 * A file with a limit is in two parts. The first ends before tail_offset, with less room left than the next
 * block needed. The second is `segments` segments of segment_bytes each, written in turn and then anew from
 * the first one on; each has blocks of one lap, up to the first place where no such block is.
 */
#ifndef SLUICE_TRACE_H
#define SLUICE_TRACE_H

#include <stdint.h>

#define SLUICE_TRACE_MAGIC "\211SLUICE\n"
#define SLUICE_TRACE_MAJOR 2 /* a reader refuses any other */
#define SLUICE_TRACE_MINOR 7 /* more record types or fields: an older reader skips them */
#define SLUICE_TRACE_BLOCK_MAGIC UINT32_C(0x4b424c53) /* "SLBK" */
#define SLUICE_TRACE_BLOCK_MAX (UINT32_C(1) << 20)    /* payload bytes */
#define SLUICE_TRACE_HEADER_MAX 4096
#define SLUICE_TRACE_SEGMENTS_MAX 64

/* The checksum is XXH64 with seed 0 of the header_bytes - 8 bytes before it; it is always last. A later minor
 * version may put more in front of it: header_bytes says so. */
struct sluice_trace_header {
    char magic[8];
    uint16_t major_version, minor_version;
    uint32_t header_bytes;
    uint64_t realtime_ns;  /* the start, since 1970 */
    uint64_t monotonic_ns; /* the same moment on the clock of the records (CLOCK_MONOTONIC) */
    uint32_t process;      /* its id */
    uint32_t segments;     /* 0: the file has no limit */
    char program[64];      /* its short name; unused bytes are 0 */
    uint64_t tail_offset, segment_bytes;
    uint64_t checksum;
};

/* Then stored_bytes bytes: payload_bytes bytes of records, plain if both are equal, else compressed. A block
 * with `group` 0 begins a zstd frame; 1, 2, ... are what the compressor put out next in the same frame, and
 * cannot be read without those before. No frame is ended; none needs a larger window than 256 KiB. The
 * checksum is XXH64 of the stored bytes, its seed the XXH64 (seed 0) of the 40 bytes before it. */
struct sluice_trace_block {
    uint32_t magic;
    uint32_t stored_bytes, payload_bytes;
    uint32_t record_count;
    uint32_t thread; /* which of the program's threads: 1, 2, ... in the order of their first record; 0: the
                        trace */
    uint32_t lap;    /* 0: first part; else which segment, counted from 1: the one at (lap - 1) % segments */
    uint32_t group;  /* its number in its frame; 0 if it is plain */
    uint32_t reserved;       /* 0 */
    uint64_t records_before; /* in all blocks written before this one */
    uint64_t checksum;
};

/* A record is: type (1 byte), flags (1 byte), body bytes (varint), body. A varint is LEB128. The body is the
 * varints tick, time_ns      as differences to the block's record before, zigzag-coded; before the first
 * record both are 0; id, a, b, c, d, from which zeros at the end are left out. Types with a text have it
 * behind all seven, up to the end of the body; SLUICE_TRACE_KERNEL behind tick, time_ns and id. Where b is a
 * time (SLUICE_TRACE_TRANSFER and SLUICE_TRACE_DURATION), the body has time_ns - b, zigzag-coded, plus 1, or
 * 0 where it is not known. A reader skips what a body holds beyond that, and records of a type it does not
 * know. */
enum sluice_trace_type {
    /* id: slot; a: address; b: bytes; c: site; d: stream (since 2.6); flags: 1 if it is no new one, but written
     * again, 2 if it is in the order of the stream */
    SLUICE_TRACE_ALLOC = 1,
    SLUICE_TRACE_FREE = 2,   /* id: slot; a: address; b: bytes; c: stream (since 2.6); flags: 2 as above */
    SLUICE_TRACE_KERNEL = 3, /* id: kernel; text: its name */

    /* id: kernel, or 0; a: stream; b: grid threads; c: bytes of a copy, a memset or a collective, of which
     * (since 2.3) id is the function (1 AllReduce, 2 Broadcast, 3 Bcast, 4 Reduce, 5 ReduceScatter, 6
     * AllGather, 7 AlltoAll, 8 Gather, 9 Scatter, 10 Send, 11 Recv; 0: a group of several) and b the
     * communicator: the same number on all ranks, or 0 where it is not known; d: the tick of an earlier
     * launch whose accesses are this one's, too; 0: its own follow, if it has any; flags: 0 kernel, 1 copy, 2
     * memset, 3 graph, 4 collective; a copy's plus 16 * direction: 0 unknown, 1 host to device, 2 device to
     * host, 3 device to device */
    SLUICE_TRACE_LAUNCH = 4,

    /* Of the launch with the same tick, and of those that refer to it. id: slot; a: offset in it; b: bytes;
     * flags: 1 if it is surely not written (since 2.1) */
    SLUICE_TRACE_ACCESS = 5,

    /* Issued when this tick was the newest. id: chunk; a: bytes;
     * flags: 0 evict, 1 discard, 2 fetch, 3 populate; plus 16 * cause: 0 plan, 1 demand,
     * 2 late */
    SLUICE_TRACE_MOVE = 6,

    /* A launch waited, which was known when this tick was the newest. a: nanoseconds; b: chunks waited for;
     * c: its tick */
    SLUICE_TRACE_STALL = 7,

    SLUICE_TRACE_BUDGET = 8, /* a: budget bytes; b: chunk bytes; c: device bytes */

    /* One has ended. id: its number from 1; a: symbols in it; b: symbols since the start; c: how many of
     * these were predicted */
    SLUICE_TRACE_ITERATION = 9,
    SLUICE_TRACE_GAP = 10, /* tick: the first lost; a: records lost */

    /* A movement has ended. tick, id, flags and a: as in its SLUICE_TRACE_MOVE; b: when it began on the link,
     * on the records' clock; c: nanoseconds that it took. Both are measured by the device. */
    SLUICE_TRACE_TRANSFER = 11,

    /* How fast movements were so far: half of eight in a row reached it. a: bytes a second to the device; b:
     * from it; 0: not known yet. The last one holds. */
    SLUICE_TRACE_LINK = 12,

    /* Of the launch with this tick, on the device. id: kernel; a: nanoseconds; b: when it began there, on the
     * records' clock, or 0; flags: 1 if its stream was idle, so that the time that the launch took to get
     * there is in it */
    SLUICE_TRACE_DURATION = 13,
    SLUICE_TRACE_SYNC =
        14,                  /* The program waited until now. a: nanoseconds; b: for which stream or event;
                              * flags: 0 context, 1 stream, 2 event, 3 in a copy that returns when it is done */
    SLUICE_TRACE_ERROR = 15, /* A call failed. id: the driver's error code; flags: 0 allocation, 1 launch,
                              * 2 other; a: bytes asked for; c: site */

    /* id: of ranges that begin and end by number; a: NVTX's domain, 0 for the default one: pushes and pops of
     * a thread are nested in each by itself; c: who says so: 0 NVTX, 1 sluice/marks.h; text: its name; flags:
     * 0 push, 1 pop, 2 a moment, 3 begin, 4 end */
    SLUICE_TRACE_MARK = 16,

    /* Who allocates. c: site; text: its frames, the innermost first, as "module+offset" separated by spaces:
     * the number of a SLUICE_TRACE_MODULE and the offset in it of a return address, hexadecimal; number 0: no
     * module, an address */
    SLUICE_TRACE_SITE = 17,
    SLUICE_TRACE_MODULE = 18, /* id: module; a: where it is loaded; b, c: first 16 bytes of its build id;
                               * text: its path */
    /* Of the device, the driver, the options, the run. text: "name=value"; flags: 1 if the text is the name
     * alone, and a: its value */
    SLUICE_TRACE_METADATA = 19,
    SLUICE_TRACE_SLAB = 20, /* Where chunks lie. id: the first; a: its address; b: bytes of all;
                             * flags: 1 if they are pinned host memory, which never moves */

    /* What sluice decided, and why (since 2.2). flags and fields:
     * 0 a plan is begun; id: 0 nothing was planned, 1 the present plan ends, 2 a profile predicts it; a: the
     *   launch being begun
     * 1 it is carried out; id: 1 if it is the one before; a: its first launch; b: how many; c: evictions;
     *   d: fetches
     * 2 it is discarded; id: 0 misprediction, 1 a launch lacked a chunk, 2 the budget shrank, 3 the history
     *   was forgotten, 4 made too late, 5 streams came in another order, 6 it could not be made, 7 a check
     *   failed; a: its first launch; b: how many of its launches were left; c: 1 if it was being carried out
     * 3 a misprediction; id: what differs: 0 the kind of event, 1 the kernel, 2 grid, block or bytes, 3 the
     *   number of accesses, 4 an access, 5 the allocation, 6 the order of streams; a: what
     *   was expected: a launch's kernel, the slot of an allocation or free, or, with 4, of the access; b: the
     *   same of what came; c: which access
     * 4 victims of a fetch on demand; id: the first chunk to leave, UINT32_MAX: none may; a: resident chunks;
     *   b: how many of them may leave; c: the launch that used the first one last */
    SLUICE_TRACE_DECISION = 21,

    /* The program orders its streams, once it has met other ranks (since 2.3). flags: 0 it recorded an event
     * on a stream, 1 a stream is to wait for an event; a: the stream; b: the event, by its handle */
    SLUICE_TRACE_ORDER = 22,

    /* A frame of Python of the SLUICE_TRACE_SITE before it (since 2.4). id: 0 the innermost, 1 its caller, ...;
     * a: its line, or 0; c: site; text: the qualified name of the function, a space, and the source file */
    SLUICE_TRACE_PYTHON = 23,

    /* What PyTorch calls a tensor that lives at this time (since 2.5). a: address; b: bytes; text: its name */
    SLUICE_TRACE_NAME = 24,

    /* What the collective with this tick sends or receives (since 2.6). id: the other rank; a: communicator; b:
     * bytes; c: this rank; both as numbered in the communicator; flags: 0 it sends, 1 it receives */
    SLUICE_TRACE_MESSAGE = 25,

    /* Which thread of the system the thread of this block is (since 2.7). a: its number by gettid */
    SLUICE_TRACE_THREAD = 26,
    SLUICE_TRACE_END = 255, /* a: records in the file before this one; b: records lost */
};

#endif
