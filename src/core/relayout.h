/* Gives a period's allocations new places (memory/layout.h), once a whole period was predicted: changes the
 * places at which their next lives are predicted. Nothing that is allocated moves. Caller holds the order
 * lock. */
#ifndef SLUICE_RELAYOUT_H
#define SLUICE_RELAYOUT_H

#include "base/types.h"
#include "memory/layout.h"

struct sl_core;
struct sl_history;
struct sl_layout_job;
struct sl_planner;

struct sl_relayout {
    uint64_t due_at;           /* in symbols fed */
    uint64_t anew_at;          /* the same, because allocations lie elsewhere than predicted */
    bool waited;               /* for the point of the period where the fewest bytes are alive */
    uint32_t tries;            /* number so far */
    uint64_t strays;           /* history->strays at the last one */
    uint32_t done;             /* tries whose layout was better */
    uint32_t failed;           /* tries in a row of which it was not */
    struct sl_layout_job *job; /* the planner's, or it waits to be applied; NULL: none */
    bool drop;                 /* the job's result is of no use */
    bool at_begin;             /* the program came to the begin of the job's period since sl_relayout_go_on */
};

/* Whether to call sl_relayout now. */
bool sl_relayout_is_due(const struct sl_relayout *relayout, struct sl_history *history);

/* Looks for new places, and predicts them from the program's next symbol on if they make the period faster.
 * With a planner that has a thread, that one looks for them. */
void sl_relayout(struct sl_relayout *relayout, struct sl_core *core, struct sl_planner *planner);

/* A symbol was fed. Precondition: there is a job. */
void sl_relayout_follow(struct sl_relayout *relayout, sl_symbol symbol);
/* Predicts the new places that the planner found, if the program is at the begin of their period. */
void sl_relayout_go_on(struct sl_relayout *relayout, const struct sl_planner *planner);

/* Symbols and slots are numbered anew: starts over, once the planner is done. */
void sl_relayout_forget(struct sl_relayout *relayout);
/* Precondition: the planner has ended. */
void sl_relayout_close(struct sl_relayout *relayout);

/* --- period_items.c: A period's allocations as a layout's items (memory/layout.h): when they live, when they
 * are used, where they lie. Caller holds the order lock. */

struct sl_period_items {
    const struct sl_core *core;
    const sl_symbol *symbols;
    const uint64_t *notes;
    size_t period;
    struct sl_layout_item *items;
    struct sl_period_part {
        uint32_t symbol;     /* index in the period of its allocation; SL_NONE: it exists before */
        uint32_t more;       /* further items of the same allocation, one for each chunk */
        uint64_t last_ns;    /* end of its last use; 0: none yet */
        uint64_t most_bytes; /* to keep room for */
    } * parts;               /* parallel to `items` */
    uint32_t count, item_capacity, part_capacity;
    uint32_t *item_of;  /* by slot, or name of any size: first item of its live allocation; SL_NONE: none */
    uint32_t *bin_of;   /* by chunk; SL_NONE: the chunk is not considered */
    sl_chunk *chunk_of; /* by bin */
    uint32_t bin_count, movable, allocations;
    uint64_t period_ns, gap_ns;
    uint8_t home; /* the stream of the period's first allocation */
    bool mixed; /* allocations of several streams: a place freed on another stream would have to be waited for
                 */
};

/* Reads the first `period` of at least twice as many predicted symbols, which begin with the program's next
 * one. `notes`: where their allocations are predicted to lie (0: at the slot's place). False: out of memory.
 */
bool sl_period_items_read(struct sl_period_items *items, struct sl_core *core, const sl_symbol *symbols,
                          const uint64_t *notes, size_t period);
void sl_period_items_close(struct sl_period_items *items); /* zeroes it; accepts a zeroed one */

/* --- Finds the symbols of a period again in other repetitions of it, which may differ a little: each symbol
 * is taken for its next occurrence in the period, or, if there is none, for its first. So a symbol too many
 * or too few misleads as far as the next one that occurs once. Not thread-safe. */

struct sl_period_match {
    uint32_t *begins; /* by symbol: its first one in `places`; one more than symbols */
    uint32_t *places; /* in the period, by symbol, in their order */
    uint32_t symbols;
    uint32_t at; /* the next place */
};

/* All `length` symbols of the period are below `symbols`. False: out of memory. */
bool sl_period_match_init(struct sl_period_match *match, const sl_symbol *period, uint32_t length,
                          uint32_t symbols);
void sl_period_match_close(struct sl_period_match *match); /* accepts a zeroed one */

/* The next symbol is the first one of a repetition. */
static inline void sl_period_match_begin(struct sl_period_match *match)
{
    match->at = 0;
}
/* The place in the period of the string's next symbol. SL_NONE: the period does not have it. */
uint32_t sl_period_match_next(struct sl_period_match *match, sl_symbol symbol);

#endif
