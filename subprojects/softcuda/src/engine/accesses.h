/* Which bytes a kernel accessed, and how, exact to the byte.
 *
 * A few bits for each byte of the pages that were touched: its content was read before this table's owner
 * wrote it, it was written, it was accessed atomically. Blocks of one launch have no order among each other,
 * so bits and not a history are what a launch leaves behind. Kept only where the driver asked for it before
 * any module was loaded (sc_engine_note_touches). Thread safety: one table, one thread.
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

/* Zeroed is empty. */
struct sc_accesses {
    struct sc_access_page **pages; /* open addressing */
    struct sc_access_page *last;
    uint32_t capacity, count; /* capacity: a power of two, or 0 */
    bool failed;              /* no memory: something is missing */
};

/* Neighbouring bytes that were accessed alike. Of the kinds of accesses to a byte the strongest is told: a
 * write, then an atomic one (SC_ACCESS_UPDATE stands for SC_ACCESS_PUBLISH, too), then a read, then
 * SC_ACCESS_POLL. */
struct sc_accessed {
    uint64_t begin, end;
    enum sc_access_kind kind;
    bool content_read; /* before it was written */
};

void sc_accesses_add(struct sc_accesses *accesses, uint64_t address, uint64_t bytes,
                     enum sc_access_kind kind);
/* Adds what another part of the same launch did at the same time. */
void sc_accesses_merge(struct sc_accesses *into, const struct sc_accesses *from);

/* The ranges in the order of addresses, from malloc; NULL with *count 0 when there are none. false: no
 * memory, or it ended earlier. */
bool sc_accesses_ranges(const struct sc_accesses *accesses, struct sc_accessed **out, size_t *count);
void sc_accesses_free(struct sc_accesses *accesses); /* accepts a zeroed one */

#endif
