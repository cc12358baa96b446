/* Records that are written without the order lock. Any thread. */
#ifndef SLUICE_EMIT_H
#define SLUICE_EMIT_H

#include <stdatomic.h>

#include "trace/events.h"

struct sl_trace;

/* Records go there from now on; NULL: nowhere. `tick`: where the newest launch's stands; lives as
 * long. */
void sl_trace_emit_to(struct sl_trace *trace, const _Atomic sl_tick *tick);
bool sl_trace_emits(void);

/* Where `tick` or `time_ns` are 0 they are the newest launch's and now. False: no trace is written, or the
 * record is lost. */
bool sl_trace_emit(struct sl_event event);

#endif
