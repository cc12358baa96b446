/* The shared memory of a communicator: what is in it, and how its ranks come to have it.
 *
 * Its name follows from random bits of the communicator's id, its content is the user's alone. The first rank
 * that comes creates it, the last removes its name; what is left is gone when the last rank is. Every rank
 * that has it open holds a shared lock on it (flock), which ends with the process: a segment under whose name
 * nobody holds one is stale, and who comes later removes it.
 *
 * What stands in the segment was written by other processes. A rank computes where everything lies from the
 * number of ranks, which it knows, and relies on no number that it reads there.
 */
#ifndef SOFTCUDA_NCCL_SEGMENT_H
#define SOFTCUDA_NCCL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SC_MOST_RANKS 128
#define SC_SLOTS 2                 /* pieces that may be on the way from one rank to another */
#define SC_SLOT_BYTES (128u << 10) /* of a piece; a multiple of every element's size */
#define SC_TIMES 8
#define SC_SPLITS 8

enum sc_row_state {
    SC_ROW_EMPTY,
    SC_ROW_HERE,
    SC_ROW_LEFT,    /* destroyed its communicator, or its process ended in order */
    SC_ROW_BROKEN,  /* aborted, or failed: what it owes will not come */
    SC_ROW_REVOKED, /* the same, but the communicator is still there to be split */
};

/* When the works `first` to `last`, exclusively, of a series could begin on a rank (times.h). */
struct sc_time {
    uint64_t first, last, ready_ns, busy_ns;
};

/* The latest of them, number i at i % SC_TIMES. */
struct sc_series {
    _Alignas(64) uint64_t posted; /* atomic: how many there were */
    struct sc_time times[SC_TIMES];
};

struct sc_split {
    uint64_t number; /* of the split, from 1; 0: none */
    int32_t color, key;
};

/* One rank. */
struct sc_row {
    _Alignas(64) uint64_t owner; /* atomic: process and its start (liveness.h); 0: nobody yet */
    uint32_t state;              /* atomic */
    int32_t device;
    _Alignas(64) uint32_t bell;        /* atomic: goes up when something is there for this rank; a futex */
    uint32_t sleepers;                 /* atomic: how many wait for it */
    _Alignas(64) uint64_t splits_done; /* atomic: splits whose splits[] this rank has read on all ranks */
    uint64_t splits_posted;            /* atomic */
    struct sc_split splits[SC_SPLITS]; /* split i at i % SC_SPLITS */
    struct sc_series collectives;
};

/* What a piece is of. Both sides compute it; where they differ, the program called different functions. */
struct sc_piece {
    uint64_t signature;
    uint64_t factor;
    uint64_t bytes;
};

/* The way from one rank to another. */
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
    uint32_t attached; /* atomic: ranks that came */
    uint8_t rest[4096 - 44];
};

/* Random bits, the same for all ranks of a communicator and for nobody else. The first two words make the
 * name; the others stay inside and tell that the segment is the right one. */
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
    SC_SEGMENT_MISMATCH, /* it is of another number of ranks, version or communicator */
    SC_SEGMENT_NO_ROOM,  /* in /dev/shm, or for the mapping */
    SC_SEGMENT_SYSTEM,   /* see errno */
};

/* pre: 1 <= ranks <= SC_MOST_RANKS. Creates the segment or opens the one that is there. */
enum sc_segment_status sc_segment_open(const struct sc_key *key, unsigned ranks, struct sc_segment *out);
/* All have come: the name goes. */
void sc_segment_unlink(const struct sc_segment *segment);
void sc_segment_close(struct sc_segment *segment);

/* Backs the slots from one rank to another with memory; false: there is none. Without it a write would raise
 * SIGBUS where /dev/shm is full. */
bool sc_segment_reserve(const struct sc_segment *segment, unsigned from, unsigned to);

/* Removes what was left behind by ranks that are gone. */
void sc_segment_reclaim(void);

/* A second key that follows from a first and a number. */
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

/* Where piece number `piece` lies. */
static inline void *sc_segment_slot(const struct sc_segment *segment, unsigned from, unsigned to,
                                    uint64_t piece)
{
    return segment->base + sc_segment_slot_offset(segment->ranks, from, to) +
           (piece % SC_SLOTS) * SC_SLOT_BYTES;
}

#endif
