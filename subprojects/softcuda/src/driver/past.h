/* The frees of pool memory that are known to come before a point of the program: for each stream, the number
 * of its last such free. This follows from the API calls alone and not from execution, so that every schedule
 * reuses memory alike. A zeroed structure is empty. If memory runs out, entries are dropped, which is safe:
 * less memory is reused. */
#ifndef SOFTCUDA_PAST_H
#define SOFTCUDA_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sc_past {
    struct sc_past_entry {
        unsigned long long stream_id;
        uint64_t op_id;
    } * list;
    size_t count, capacity;
};

void sc_past_note(struct sc_past *past, unsigned long long stream_id, uint64_t op_id);
void sc_past_join(struct sc_past *past, const struct sc_past *other);
bool sc_past_holds(const struct sc_past *past, unsigned long long stream_id, uint64_t op_id);
void sc_past_clear(struct sc_past *past); /* makes it empty and frees what it owns */

#endif
