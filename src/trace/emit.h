/* Records that are written without the order lock. Any thread. */
#ifndef SLUICE_EMIT_H
#define SLUICE_EMIT_H

#include <stdatomic.h>

#include "trace/events.h"

struct sl_trace;

/* Sends later records to `trace`; NULL: nowhere. `tick`: the newest launch's tick; must live as long as
 * `trace`. */
void sl_trace_emit_to(struct sl_trace *trace, const _Atomic sl_tick *tick);
bool sl_trace_emits(void);

/* A `tick` of 0 means the newest launch's, a `time_ns` of 0 the present. False: no trace is written, or the
 * record is lost. */
bool sl_trace_emit(struct sl_event event);

#endif
