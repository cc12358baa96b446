/* Lets allocations come to lie as memory/layout.h has it, once a period was predicted from its first symbol
 * to its last: what the next ones are predicted to take becomes another place. Nothing that is allocated
 * moves. Caller holds the order lock. */
#ifndef SLUICE_RELAYOUT_H
#define SLUICE_RELAYOUT_H

#include "base/types.h"

struct sl_forecast_sources;
struct sl_history;

struct sl_relayout {
    uint64_t due_at; /* symbols fed */
    uint32_t tries;  /* so far */
    uint32_t done;   /* of them that were better */
    bool waited;     /* the program has come to the point of its period where the least is alive */
};

/* Whether a forecast that begins now is to be preceded by one. */
bool sl_relayout_is_due(const struct sl_relayout *relayout, const struct sl_history *history);

/* What was predicted, `count` symbols with the addresses that allocations are noted to take (0: their
 * slot's), gets other addresses if that is better. pre: the first symbol is the next one of the program. */
void sl_relayout(struct sl_relayout *relayout, const struct sl_forecast_sources *from,
                 const sl_symbol *symbols, uint64_t *notes, size_t count);

/* Symbols and slots mean something else from now on. */
void sl_relayout_forget(struct sl_relayout *relayout);

#endif
