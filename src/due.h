/* What is due, though the order of launches has chance in it and nothing is planned. An expert that was taken
 * by chance in the forward pass is needed again in the backward pass, and then its moments are.
 *
 * A use is a tensor in one place of a kernel's parameters. Its successor is the use of the same tensor that
 * came next. Where that was the same one several times in a row, after about as many launches, it is due once
 * the use comes again; so are its own successor, and the other tensors that its launches always used. What is
 * due comes while the link has nothing else to do, and leaves last (demand.h). A prefetcher by correlation,
 * as processors have them (Joseph, Grunwald 1997), with tensors for addresses and launches for time. Caller
 * holds the order lock. */
#ifndef SLUICE_DUE_H
#define SLUICE_DUE_H

#include "map.h"

struct sl_core;

struct sl_due {
    struct sl_due_use *uses;
    struct sl_due_tensor *tensors;
    uint32_t use_count, use_capacity, tensor_count, tensor_capacity;
    struct sl_map use_of, tensor_of; /* by hash */
    struct sl_due_item {
        sl_tick tick; /* at which it is expected */
        uint32_t use;
    } * heap; /* the earliest on top */
    uint32_t heap_count, heap_capacity;
    uint32_t surprised;  /* part of the launches lately that were not foreseen, in steps of 2^-16 */
    uint64_t launch_ns;  /* that the launch being begun takes, as far as is known; or 0 */
    uint64_t idle_bytes; /* that the link could have carried since a launch had to wait for it */
};

/* Accepts a zeroed one, and leaves one. Slots or symbols mean something else from now on, or it is the end.
 */
void sl_due_forget(struct sl_due *due);

/* Whether launches are to be noted: memory is short, and nothing is planned. */
bool sl_due_is_noted(const struct sl_core *core);
/* Whether, besides, launches surprise so often that plans cannot be waited for. */
bool sl_due_is_used(const struct sl_core *core);

/* The launch being begun, core->ticks.now, is `symbol`. Where that is used, the chunks of what it makes due
 * get their `due`. */
void sl_due_note(struct sl_core *core, sl_symbol symbol);

/* A chunk of what is due first of all that is not on the device, or SL_NO_CHUNK; *tick: when. */
sl_chunk sl_due_next(struct sl_core *core, sl_tick *tick);

#endif
