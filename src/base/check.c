#include "base/check.h"

#include <string.h>

#include "base/log.h"

#if SLUICE_CHECK_LEVEL >= SL_CHECKS_ALL
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#endif

_Atomic uint64_t sl_check_failures;

/* Strips the path from the build's folder to the sources. */
static const char *name_of(const char *file)
{
    while (strncmp(file, "../", 3) == 0) file += 3;
    return file;
}

#if SLUICE_CHECK_LEVEL >= SL_CHECKS_ALL

void sl_check_end(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO, "sluice: check failed: %s\n", text);
    abort();
}

static __thread struct sl_check_place broken __attribute__((tls_model("initial-exec"))); /* zeroed: none */

bool sl_invariant_broken(const char *file, int line, const char *invariant)
{
    broken = (struct sl_check_place){.file = file, .line = line, .expression = invariant};
    return false;
}

bool sl_check_failed(struct sl_check_place *place)
{
    if (broken.file)
        sl_check_end("%s:%d: %s: not %s (%s:%d)", name_of(place->file), place->line, place->expression,
                     broken.expression, name_of(broken.file), broken.line);
    sl_check_end("%s:%d: %s", name_of(place->file), place->line, place->expression);
}

#else

bool sl_check_failed(struct sl_check_place *place)
{
    atomic_fetch_add_explicit(&sl_check_failures, 1, memory_order_relaxed);
    if (!atomic_exchange_explicit(&place->said, true, memory_order_relaxed))
        sl_log(SL_LOG_WARN, "check failed: %s:%d: %s; the program goes on, and nothing is planned any more",
               name_of(place->file), place->line, place->expression);
    return false;
}

#endif

bool sl_check_spend(_Atomic size_t *spent, size_t elements)
{
    if (atomic_fetch_add_explicit(spent, SL_CHECK_SHARE, memory_order_relaxed) + SL_CHECK_SHARE < elements)
        return false;
    atomic_store_explicit(spent, 0, memory_order_relaxed);
    return true;
}
