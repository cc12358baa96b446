/* Decisions of the core: the fields of a SLUICE_TRACE_DECISION record, and their texts. Thread-safe. */
#ifndef SLUICE_DECISION_H
#define SLUICE_DECISION_H

#include "base/types.h"
#include "trace/events.h"

/* The record's flags. */
enum sl_decision {
    SL_DECISION_BEGIN,      /* a plan is begun */
    SL_DECISION_SWITCH,     /* it is carried out from now on */
    SL_DECISION_DISCARD,    /* it is not, or no longer */
    SL_DECISION_MISPREDICT, /* something else came than was expected */
    SL_DECISION_VICTIMS,    /* which chunks leave on demand */
};

/* Why a plan is begun. */
enum sl_begin_reason { SL_BEGIN_ANEW, SL_BEGIN_FOLLOWS, SL_BEGIN_PROFILE };

/* Why it is discarded. */
enum sl_cancel_reason {
    SL_CANCEL_MISPREDICTED,
    SL_CANCEL_LACKING, /* a launch lacked a chunk that the plan has on the device */
    SL_CANCEL_BUDGET,
    SL_CANCEL_FORGOTTEN, /* the tables were full */
    SL_CANCEL_LATE,      /* what it is for was over when it was made */
    SL_CANCEL_STREAMS,   /* the streams' launches came in an order that it cannot follow */
    SL_CANCEL_FAILED,    /* it could not be made */
    SL_CANCEL_CHECK,     /* a check failed (base/check.h): what it was made from may be wrong */
};

/* In what a symbol differs from the expected one. */
enum sl_difference {
    SL_DIFFERS_KIND,     /* a launch, an allocation, a free */
    SL_DIFFERS_KERNEL,   /* or copy, memset, graph */
    SL_DIFFERS_SHAPE,    /* the same kernel: grid, block, or the bytes of a copy */
    SL_DIFFERS_ACCESSES, /* how many allocations it is given */
    SL_DIFFERS_ACCESS,   /* which, or where in it */
    SL_DIFFERS_SLOT,     /* an allocation or free: which */
    SL_DIFFERS_ORDER,    /* it was expected, but not by the plan, or only of another stream */
};

/* In a few words; "?" for a number that is none. */
const char *sl_decision_text(unsigned decision);
/* What the record's id says of a decision that is begun, discarded or a misprediction; NULL for others. */
const char *sl_decision_reason_text(unsigned decision, unsigned reason);

#endif
