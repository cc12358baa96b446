/* The shared memory of a communicator: its layout, and how the ranks find it.
 *
 * Its name is derived from random bits of the communicator's id; only the user can open it. The first rank
 * creates it; the last rank to attach removes its name, so the memory is freed when the last rank is gone.
 * Every rank that has it open holds a shared lock on it (flock), which ends with the process. A named segment
 * without such a lock is stale, and is removed by later ranks.
 *
 * The contents were written by other processes. A rank computes the layout from the number of ranks, which it
 * knows, and trusts no size or offset in the segment.
 */
#ifndef SOFTCUDA_NCCL_SEGMENT_H
#define SOFTCUDA_NCCL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SC_MOST_RANKS 128
#define SC_SLOTS 2                 /* pieces that may be in flight from one rank to another */
#define SC_SLOT_BYTES (128u << 10) /* maximum bytes of a piece; a multiple of every element size */
#define SC_TIMES 8
#define SC_SPLITS 8

enum sc_row_state {
    SC_ROW_EMPTY,
    SC_ROW_HERE,
    SC_ROW_LEFT,    /* it destroyed its communicator, or its process exited normally */
    SC_ROW_BROKEN,  /* aborted or failed: it will not send what its peers expect */
    SC_ROW_REVOKED, /* the same, but the communicator can still be split */
};

/* The ready time and duration of the works [first, last) of a series on a rank (times.h). */
struct sc_time {
    uint64_t first, last, ready_ns, busy_ns;
};

/* The latest times; number i is at i % SC_TIMES. */
struct sc_series {
    _Alignas(64) uint64_t posted; /* atomic: number of times posted */
    struct sc_time times[SC_TIMES];
};

struct sc_split {
    uint64_t number; /* of the split, from 1; 0: none */
    int32_t color, key;
};

/* One rank. */
struct sc_row {
    _Alignas(64) uint64_t owner; /* atomic: process and its start time (liveness.h); 0: not attached */
    uint32_t state;              /* atomic */
    int32_t device;
    _Alignas(64) uint32_t bell;        /* atomic futex: incremented when there is something for this rank */
    uint32_t sleepers;                 /* atomic: number of threads that wait for `bell` */
    _Alignas(64) uint64_t splits_done; /* atomic: splits for which this rank has read the splits[] of all
                                          ranks */
    uint64_t splits_posted;            /* atomic */
    struct sc_split splits[SC_SPLITS]; /* split i is at i % SC_SPLITS */
    struct sc_series collectives;
};

/* Describes a piece. Sender and receiver compute it independently; if they differ, the ranks called different
 * functions. */
struct sc_piece {
    uint64_t signature;
    uint64_t factor;
    uint64_t bytes;
};

/* The channel from one rank to another. */
struct sc_pair {
    _Alignas(64) uint64_t written; /* atomic: pieces, by the sender */
    struct sc_piece pieces[SC_SLOTS];
    _Alignas(64) uint64_t read; /* atomic: pieces, by the receiver */
    struct sc_series sends, receives;
};

struct sc_segment_header {
    uint64_t magic;
    uint32_t version, ranks;
    uint64_t bytes;
    uint64_t key[2];
    uint32_t attached; /* atomic: number of ranks that have attached */
    uint8_t rest[4096 - 44];
};

/* Random bits, equal for all ranks of a communicator and unknown to others. The first two words make the
 * name; the others are stored in the segment and verify that it is the right one. */
struct sc_key {
    uint64_t words[4];
};

struct sc_segment {
    int file; /* -1: not open */
    unsigned ranks;
    size_t bytes;
    char *base;
    char name[64];
};

enum sc_segment_status {
    SC_SEGMENT_OK,
    SC_SEGMENT_MISMATCH, /* it belongs to another number of ranks, version or communicator */
    SC_SEGMENT_NO_ROOM,  /* in /dev/shm, or for the mapping */
    SC_SEGMENT_SYSTEM,   /* see errno */
};

/* Creates the segment or opens the existing one. pre: 1 <= ranks <= SC_MOST_RANKS. */
enum sc_segment_status sc_segment_open(const struct sc_key *key, unsigned ranks, struct sc_segment *out);
/* Removes the name. Call it when all ranks have attached. */
void sc_segment_unlink(const struct sc_segment *segment);
void sc_segment_close(struct sc_segment *segment);

/* Allocates the memory of the slots from one rank to another; false: there is not enough. Without this, a
 * write would raise SIGBUS if /dev/shm is full. */
bool sc_segment_reserve(const struct sc_segment *segment, unsigned from, unsigned to);

/* Removes stale segments of dead ranks. */
void sc_segment_reclaim(void);

/* Derives a second key from a key and a number. */
struct sc_key sc_key_derive(const struct sc_key *key, uint64_t number);

static inline struct sc_segment_header *sc_segment_header(const struct sc_segment *segment)
{
    return (struct sc_segment_header *)segment->base;
}

static inline struct sc_row *sc_segment_row(const struct sc_segment *segment, unsigned rank)
{
    return (struct sc_row *)(segment->base + sizeof(struct sc_segment_header)) + rank;
}

static inline struct sc_pair *sc_segment_pair(const struct sc_segment *segment, unsigned from, unsigned to)
{
    return (struct sc_pair *)sc_segment_row(segment, segment->ranks) + (size_t)from * segment->ranks + to;
}

static inline size_t sc_segment_slot_offset(unsigned ranks, unsigned from, unsigned to)
{
    size_t head = sizeof(struct sc_segment_header) + ranks * sizeof(struct sc_row) +
                  (size_t)ranks * ranks * sizeof(struct sc_pair);
    return ((head + 4095) & ~(size_t)4095) + ((size_t)from * ranks + to) * SC_SLOTS * SC_SLOT_BYTES;
}

/* Address of piece number `piece`. */
static inline void *sc_segment_slot(const struct sc_segment *segment, unsigned from, unsigned to,
                                    uint64_t piece)
{
    return segment->base + sc_segment_slot_offset(segment->ranks, from, to) +
           (piece % SC_SLOTS) * SC_SLOT_BYTES;
}

#endif
