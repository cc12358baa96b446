/* Checks: conditions that must hold whatever the program does, verified at run time. SLUICE_CHECK_LEVEL
 * selects which are compiled in; the build sets it equally for all objects of a library (Meson's option
 * `checks`):
 *
 *   off    nothing
 *   cheap  SL_CHECK: a few instructions each. For released builds.
 *   all    SL_CHECK_ALL as well: verifies whole structures, and watches locks (locks.h). For test builds.
 *
 * In a user's process a failed check does not end the process. It is counted, and logged once for each place
 * in the source; the caller falls back to a safe action, and the core makes no more plans
 * (sl_planning_go_on). With all checks the process aborts at the place, with the same line on stderr.
 *
 * Each macro compiles its expression at every level, but evaluates it only where the check is compiled in. So
 * the expression must have no side effects.
 */
#ifndef SLUICE_CHECK_H
#define SLUICE_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_CHECKS_OFF 0
#define SL_CHECKS_CHEAP 1
#define SL_CHECKS_ALL 2

#ifndef SLUICE_CHECK_LEVEL
#define SLUICE_CHECK_LEVEL SL_CHECKS_CHEAP
#endif

struct sl_check_place {
    const char *file;
    int line;
    const char *expression;
    _Atomic bool said;
};

/* Called by the macros. Thread-safe, allocates nothing, keeps errno. Returns false; with all checks it does
 * not return. */
bool sl_check_failed(struct sl_check_place *place) __attribute__((cold));
/* Called by SL_HOLDS: notes the invariant for this thread's next failed check. Returns false. */
bool sl_invariant_broken(const char *file, int line, const char *invariant) __attribute__((cold));
/* Adds a call to *spent. Returns whether a check with this *spent may visit `elements` elements at present:
 * see SL_CHECK_ALL_SPARINGLY. */
bool sl_check_spend(_Atomic size_t *spent, size_t elements);
/* Writes "check failed: ..." to stderr and aborts. Only where all checks are compiled in. */
void sl_check_end(const char *format, ...) __attribute__((noreturn, cold, format(printf, 1, 2)));

/* Hidden, so that each launch reads it with one load. */
extern _Atomic uint64_t sl_check_failures __attribute__((visibility("hidden")));

/* The number of failed checks in this process. */
static inline uint64_t sl_checks_failed(void)
{
    return atomic_load_explicit(&sl_check_failures, memory_order_relaxed);
}

static inline bool sl_check_(bool holds, struct sl_check_place *place)
{
    return __builtin_expect(holds, true) || sl_check_failed(place);
}
static inline bool sl_check_not_(size_t of_expression)
{
    (void)of_expression;
    return true;
}

/* `text`: the expression as in the source. */
#define SL_CHECK_COMPILED_(expression, text) sl_check_not_(sizeof(!(expression)))
#define SL_CHECK_EVALUATED_(expression, text)                                                                \
    sl_check_((expression), ({                                                                               \
                  static struct sl_check_place place_ = {__FILE__, __LINE__, text, false};                   \
                  &place_;                                                                                   \
              }))

/* Whether the expression holds; true where it is not evaluated. For cheap conditions whose violation would
 * silently corrupt data: if (!SL_CHECK(index < count)) return; */
#if SLUICE_CHECK_LEVEL >= SL_CHECKS_CHEAP
#define SL_CHECK(expression) SL_CHECK_EVALUATED_(expression, #expression)
#else
#define SL_CHECK(expression) SL_CHECK_COMPILED_(expression, #expression)
#endif

/* The same for expensive conditions. */
#if SLUICE_CHECK_LEVEL >= SL_CHECKS_ALL
#define SL_CHECK_ALL(expression) SL_CHECK_EVALUATED_(expression, #expression)
#else
#define SL_CHECK_ALL(expression) SL_CHECK_COMPILED_(expression, #expression)
#endif

/* The same for an expression that visits `elements` elements. It is evaluated less often the larger
 * `elements` is, so that a call visits at most SL_CHECK_SHARE elements on average. */
#define SL_CHECK_SHARE 64
#if SLUICE_CHECK_LEVEL >= SL_CHECKS_ALL
#define SL_CHECK_ALL_SPARINGLY(elements, expression)                                                         \
    do {                                                                                                     \
        static _Atomic size_t spent_;                                                                        \
        if (sl_check_spend(&spent_, (elements))) SL_CHECK_EVALUATED_(expression, #expression);               \
    } while (0)
#else
#define SL_CHECK_ALL_SPARINGLY(elements, expression)                                                         \
    ((void)sizeof(elements), SL_CHECK_COMPILED_(expression, #expression))
#endif

/* Whether an invariant holds, for use in functions that check whether a structure is valid: the failing check
 * reports which invariant was violated. */
#if SLUICE_CHECK_LEVEL >= SL_CHECKS_ALL
#define SL_HOLDS(expression) ((expression) || sl_invariant_broken(__FILE__, __LINE__, #expression))
#else
#define SL_HOLDS(expression) (!!(expression))
#endif

#endif
