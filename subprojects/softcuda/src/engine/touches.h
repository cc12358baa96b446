/* The memory that a kernel touched: one bit for each granule read, one for each written.
 *
 * Exact to SC_TOUCH_BYTES. Recorded only if the driver called sc_engine_note_touches before it loaded any
 * module; otherwise kernels contain no code for it. Thread safety: one table, one thread.
 */
#ifndef SOFTCUDA_ENGINE_TOUCHES_H
#define SOFTCUDA_ENGINE_TOUCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SC_TOUCH_SHIFT 9
#define SC_TOUCH_BYTES (UINT64_C(1) << SC_TOUCH_SHIFT)

struct sc_touched_block;

/* A zeroed structure is empty. */
struct sc_touches {
    struct sc_touched_block **blocks; /* open addressing */
    struct sc_touched_block *last;
    uint32_t capacity, count; /* capacity: a power of two, or 0 */
    bool failed;              /* no memory: entries are missing */
};

/* Adjacent granules that were touched alike. */
struct sc_touched {
    uint64_t begin, end;
    bool read, written;
};

void sc_touches_add(struct sc_touches *touches, uint64_t address, uint64_t bytes, bool write);
void sc_touches_merge(struct sc_touches *into, const struct sc_touches *from);

/* The ranges in address order, from malloc; NULL with *count 0 if there are none. false: no memory, now or
 * during an earlier call. */
bool sc_touches_ranges(const struct sc_touches *touches, struct sc_touched **out, size_t *count);
void sc_touches_free(struct sc_touches *touches); /* accepts a zeroed one */

#endif
