/* The core's decisions: fields of a SLUICE_TRACE_DECISION record, and their texts. Thread-safe. */
#ifndef SLUICE_DECISION_H
#define SLUICE_DECISION_H

#include "base/types.h"
#include "trace/events.h"

/* The record's flags. */
enum sl_decision {
    SL_DECISION_BEGIN,      /* planning begins */
    SL_DECISION_SWITCH,     /* the plan takes effect */
    SL_DECISION_DISCARD,    /* the plan is discarded, before or while it is carried out */
    SL_DECISION_MISPREDICT, /* another symbol came than was predicted */
    SL_DECISION_VICTIMS,    /* which chunks are evicted on demand */
};

/* Why a plan is begun. */
enum sl_begin_reason { SL_BEGIN_ANEW, SL_BEGIN_FOLLOWS, SL_BEGIN_PROFILE };

/* Why a plan is discarded. */
enum sl_cancel_reason {
    SL_CANCEL_MISPREDICTED,
    SL_CANCEL_LACKING, /* only in traces of earlier versions: a launch lacked a planned chunk */
    SL_CANCEL_BUDGET,
    SL_CANCEL_FORGOTTEN, /* tables were full and cleared */
    SL_CANCEL_LATE,      /* its launches were over when it was ready */
    SL_CANCEL_STREAMS,   /* it cannot follow the order of the streams' launches */
    SL_CANCEL_FAILED,    /* it could not be made */
    SL_CANCEL_CHECK,     /* a check failed (base/check.h): its input may be wrong */
};

/* How a symbol differs from the expected one. */
enum sl_difference {
    SL_DIFFERS_KIND,     /* launch, allocation or free */
    SL_DIFFERS_KERNEL,   /* or copy, memset, graph */
    SL_DIFFERS_SHAPE,    /* same kernel: grid, block, or bytes of a copy */
    SL_DIFFERS_ACCESSES, /* number of allocations used */
    SL_DIFFERS_ACCESS,   /* which allocation, or offset in it */
    SL_DIFFERS_SLOT,     /* which slot is allocated or freed */
    SL_DIFFERS_ORDER,    /* predicted, but not by the plan, or only for another stream */
};

/* A short text; "?" for an unknown number. */
const char *sl_decision_text(unsigned decision);
/* The reason in the record's id, for a decision to begin or discard a plan and for a misprediction; NULL for
 * others. */
const char *sl_decision_reason_text(unsigned decision, unsigned reason);

#endif
