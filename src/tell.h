/* What the trace is told without the order lock. Any thread. */
#ifndef SLUICE_TELL_H
#define SLUICE_TELL_H

#include "event.h"

/* Where `tick` or `time_ns` are 0 they are the newest launch's and now. False: no trace is written, or the
 * record is lost. */
bool sl_tell(struct sl_event event);

#endif
