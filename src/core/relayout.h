/* Gives a period's allocations new places (memory/layout.h), once a whole period was predicted: changes the
 * places at which their next lives are predicted. Nothing that is allocated moves. Caller holds the order
 * lock. */
#ifndef SLUICE_RELAYOUT_H
#define SLUICE_RELAYOUT_H

#include "base/types.h"

struct sl_core;
struct sl_history;

struct sl_relayout {
    uint64_t due_at;  /* in symbols fed */
    uint64_t anew_at; /* the same, because allocations lie elsewhere than predicted */
    bool waited;      /* for the point of the period where the fewest bytes are alive */
    uint32_t tries;   /* number so far */
    uint64_t strays;  /* history->strays at the last one */
    uint32_t done;    /* tries whose layout was better */
    uint32_t failed;  /* tries in a row of which it was not */
};

/* Whether to call sl_relayout before the next forecast. */
bool sl_relayout_is_due(const struct sl_relayout *relayout, struct sl_history *history);

/* Changes the places of allocations in `notes` if that makes the period faster. `symbols`, `notes`: `count`
 * predicted symbols, and where their allocations are predicted to lie (0: at the slot's place). Precondition:
 * the first symbol is the program's next one. */
void sl_relayout(struct sl_relayout *relayout, struct sl_core *core, const sl_symbol *symbols,
                 uint64_t *notes, size_t count);

/* Symbols and slots are numbered anew: starts over. */
void sl_relayout_forget(struct sl_relayout *relayout);

#endif
