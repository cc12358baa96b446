/* The bytes that a kernel accessed and how, exact to the byte.
 *
 * The table keeps a few bits for each byte of the accessed pages: whether its content was read before this
 * table's owner wrote it, whether it was written, whether it was accessed atomically. Blocks of one launch
 * are not ordered, so it keeps bits and no history. Recorded only if the driver called sc_engine_note_touches
 * before it loaded any module. Thread safety: one table, one thread.
 */
#ifndef SOFTCUDA_ENGINE_ACCESSES_H
#define SOFTCUDA_ENGINE_ACCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sc_access_kind {
    SC_ACCESS_READ,
    SC_ACCESS_WRITE,
    SC_ACCESS_POLL,    /* a load that is volatile, relaxed or acquire */
    SC_ACCESS_UPDATE,  /* an atomic operation */
    SC_ACCESS_PUBLISH, /* a store that is volatile, relaxed or release */
};

struct sc_access_page;

/* A zeroed structure is empty. */
struct sc_accesses {
    struct sc_access_page **pages; /* open addressing */
    struct sc_access_page *last;
    uint32_t capacity, count; /* capacity: a power of two, or 0 */
    bool failed;              /* no memory: entries are missing */
};

/* Adjacent bytes that were accessed alike. `kind` is the strongest access to them, in this order: a write, an
 * atomic access (SC_ACCESS_UPDATE stands for SC_ACCESS_PUBLISH too), a read, SC_ACCESS_POLL. */
struct sc_accessed {
    uint64_t begin, end;
    enum sc_access_kind kind;
    bool content_read; /* the content was read before it was written */
};

void sc_accesses_add(struct sc_accesses *accesses, uint64_t address, uint64_t bytes,
                     enum sc_access_kind kind);
/* Adds the accesses of another part of the same launch, which ran at the same time. */
void sc_accesses_merge(struct sc_accesses *into, const struct sc_accesses *from);

/* The ranges in address order, from malloc; NULL with *count 0 if there are none. false: no memory, now or
 * during an earlier call. */
bool sc_accesses_ranges(const struct sc_accesses *accesses, struct sc_accessed **out, size_t *count);
void sc_accesses_free(struct sc_accesses *accesses); /* accepts a zeroed one */

#endif
