/* Gives a period's allocations new places (memory/layout.h), once a whole period was predicted: changes the
 * places at which their next lives are predicted. Nothing that is allocated moves. Caller holds the order
 * lock. */
#ifndef SLUICE_RELAYOUT_H
#define SLUICE_RELAYOUT_H

#include "base/types.h"

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

#endif
