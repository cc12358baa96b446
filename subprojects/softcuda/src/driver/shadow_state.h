/* Interned lists of uses (shadow.h): equal lists are stored once. NULL is the empty list: memory that was
 * never used.
 *
 * pre: the driver's lock is held, everywhere. */
#ifndef SOFTCUDA_SHADOW_STATE_H
#define SOFTCUDA_SHADOW_STATE_H

#include "shadow.h"

struct sc_state;

/* The uses of one operation, from sc_step_begin to sc_step_end; its problems are in `findings` at the end. */
struct sc_step {
    struct sc_actor *actor;
    const struct sc_clock *clock;
    uint64_t serial;
    struct sc_state **made; /* lists made in this step; referenced until its end */
    size_t made_count, made_capacity;
    struct sc_finding *findings;
    size_t finding_count, finding_capacity;
    bool failed; /* no memory */
};

void sc_step_begin(struct sc_step *step, struct sc_actor *actor, const struct sc_clock *clock);
/* The list that results from `state` when the operation uses `range`; notes findings for this range. The
 * caller takes a reference if it keeps the result beyond sc_step_end. */
struct sc_state *sc_step_take(struct sc_step *step, struct sc_state *state, const struct sc_use_range *range);
/* Notes findings for this range, and changes nothing. */
void sc_step_check(struct sc_step *step, const struct sc_state *state, const struct sc_use_range *range);
void sc_step_end(struct sc_step *step);

void sc_state_ref(struct sc_state *state); /* both accept NULL */
void sc_state_unref(struct sc_state *state);

#endif
