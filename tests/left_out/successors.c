/* In place of src/predict/successors.c: nothing is prefetched where launches are often mispredicted. */
#include "predict/successors.h"

struct sl_successors *sl_successors_new(const struct sl_placement *placement,
                                        const struct sl_symbols *symbols, struct sl_durations *durations)
{
    (void)placement, (void)symbols, (void)durations;
    return NULL;
}

void sl_successors_delete(struct sl_successors *table)
{
    (void)table;
}

void sl_successors_forget(struct sl_successors *table)
{
    (void)table;
}

bool sl_successors_are_needed(const struct sl_successors *table, uint64_t fed)
{
    (void)table, (void)fed;
    return false;
}

void sl_successors_note(struct sl_successors *table, sl_symbol symbol, sl_tick tick, bool predicted,
                        uint64_t fed)
{
    (void)table, (void)symbol, (void)tick, (void)predicted, (void)fed;
}

bool sl_successors_any(const struct sl_successors *table)
{
    (void)table;
    return false;
}

uint64_t sl_successors_launch_ns(const struct sl_successors *table)
{
    (void)table;
    return 0;
}

sl_chunk sl_successors_next(struct sl_successors *table, sl_tick now, sl_tick *tick)
{
    (void)table, (void)now, (void)tick;
    return SL_NONE;
}
