/* Writes one line at a time to stderr or SLUICE_LOG. Allocates nothing, keeps errno, safe in any thread and
 * after fork. The function that detects an error logs it; callers pass the status on. */
#ifndef SLUICE_LOG_H
#define SLUICE_LOG_H

#include "base/types.h"

enum sl_log_level { SL_LOG_WARN, SL_LOG_INFO, SL_LOG_DEBUG }; /* shown from SLUICE_VERBOSE = 0, 1, 2 */

/* `path`: NULL or "" for stderr; must stay valid. The first message opens the file; if this fails, one line
 * goes to stderr. stderr is the file that descriptor 2 has at this call: another file that gets this number
 * later is never written to. May be called again, but not while other threads log. */
void sl_log_open(int verbose, const char *path);
/* Whether messages of the level are shown; lets callers skip preparing them. */
bool sl_log_shows(enum sl_log_level level);
void sl_log(enum sl_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Like sl_log(SL_LOG_WARN), but once for each place in the source. */
#define sl_warn_once(...)                                                                                    \
    do {                                                                                                     \
        static _Bool said_;                                                                                  \
        if (!__atomic_exchange_n(&said_, 1, __ATOMIC_RELAXED)) sl_log(SL_LOG_WARN, __VA_ARGS__);             \
    } while (0)

#endif
