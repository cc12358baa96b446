/* One line at a time to stderr or SLUICE_LOG. Allocates nothing, keeps errno, safe in any thread and after
 * fork. The first detector of an error logs it; callers pass the status on. */
#ifndef SLUICE_LOG_H
#define SLUICE_LOG_H

#include "base/types.h"

enum sl_log_level { SL_LOG_WARN, SL_LOG_INFO, SL_LOG_DEBUG }; /* shown from SLUICE_VERBOSE = 0, 1, 2 */

/* `path`: NULL or "" for stderr; must stay where it is. The file is opened by the first message; one that
 * cannot be written gives one line on stderr. What is descriptor 2 at this call is stderr: another file under
 * that number is never written to. May be called again, but not while other threads log. */
void sl_log_open(int verbose, const char *path);
/* Whether messages of the level are shown: to spare what goes into them. */
bool sl_log_shows(enum sl_log_level level);
void sl_log(enum sl_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As sl_log(SL_LOG_WARN), but once for each place in the source. */
#define sl_warn_once(...)                                                                                    \
    do {                                                                                                     \
        static _Bool said_;                                                                                  \
        if (!__atomic_exchange_n(&said_, 1, __ATOMIC_RELAXED)) sl_log(SL_LOG_WARN, __VA_ARGS__);             \
    } while (0)

#endif
