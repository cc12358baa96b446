/* Checks: what must hold whatever the program does, looked at while it runs. How much of it is compiled in is
 * SLUICE_CHECK_LEVEL, which the build sets for all objects of a library alike (Meson's option `checks`):
 *
 *   off    nothing
 *   cheap  SL_CHECK: a few instructions each. Released builds.
 *   all    SL_CHECK_ALL as well: whole structures are gone through, and locks are watched (locks.h). Builds
 *          for tests.
 *
 * In somebody's process a failed check ends nothing. It is counted, and said once for each place in the
 * source; the caller keeps to what is safe, and the core makes no more plans (sl_planning_go_on). With all
 * checks the process aborts at the place, with the same line on stderr.
 *
 * In each macro the expression is compiled at every level, and evaluated only where the check is compiled in:
 * it must have no effects.
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

/* What the macros call. Thread-safe, allocates nothing, keeps errno. Returns false, or, with all checks, not
 * at all. */
bool sl_check_failed(struct sl_check_place *place) __attribute__((cold));
/* What SL_HOLDS calls: notes the invariant for this thread's next failed check. Returns false. */
bool sl_invariant_broken(const char *file, int line, const char *invariant) __attribute__((cold));
/* Whether what is called each time with the same *spent may cost `elements` now: see SL_CHECK_ALL_SPARINGLY.
 */
bool sl_check_is_due(_Atomic size_t *spent, size_t elements);
/* Says "check failed: ..." on stderr and aborts: where all checks are compiled in only. */
void sl_check_end(const char *format, ...) __attribute__((noreturn, cold, format(printf, 1, 2)));

/* Hidden, so that each launch reads it with one load. */
extern _Atomic uint64_t sl_check_failures __attribute__((visibility("hidden")));

/* How often a check failed so far in this process. */
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

/* `text`: the expression as it stands in the source. */
#define SL_CHECK_COMPILED_(expression, text) sl_check_not_(sizeof(!(expression)))
#define SL_CHECK_EVALUATED_(expression, text)                                                                \
    sl_check_((expression), ({                                                                               \
                  static struct sl_check_place place_ = {__FILE__, __LINE__, text, false};                   \
                  &place_;                                                                                   \
              }))

/* Whether the expression holds, where it is looked at; else true. For what is cheap and would corrupt data in
 * silence: if (!SL_CHECK(index < count)) return; */
#if SLUICE_CHECK_LEVEL >= SL_CHECKS_CHEAP
#define SL_CHECK(expression) SL_CHECK_EVALUATED_(expression, #expression)
#else
#define SL_CHECK(expression) SL_CHECK_COMPILED_(expression, #expression)
#endif

/* The same for what is not cheap. */
#if SLUICE_CHECK_LEVEL >= SL_CHECKS_ALL
#define SL_CHECK_ALL(expression) SL_CHECK_EVALUATED_(expression, #expression)
#else
#define SL_CHECK_ALL(expression) SL_CHECK_COMPILED_(expression, #expression)
#endif

/* The same for an expression that goes through so many elements: often where they are few, seldom where they
 * are many, so that no more than SL_CHECK_SHARE of them are gone through each time, on average. */
#define SL_CHECK_SHARE 64
#if SLUICE_CHECK_LEVEL >= SL_CHECKS_ALL
#define SL_CHECK_ALL_SPARINGLY(elements, expression)                                                         \
    do {                                                                                                     \
        static _Atomic size_t spent_;                                                                        \
        if (sl_check_is_due(&spent_, (elements))) SL_CHECK_EVALUATED_(expression, #expression);              \
    } while (0)
#else
#define SL_CHECK_ALL_SPARINGLY(elements, expression)                                                         \
    ((void)sizeof(elements), SL_CHECK_COMPILED_(expression, #expression))
#endif

/* Whether an invariant holds, in a function that says whether a structure is valid: where it does not, the
 * check that fails says which one it was. */
#if SLUICE_CHECK_LEVEL >= SL_CHECKS_ALL
#define SL_HOLDS(expression) ((expression) || sl_invariant_broken(__FILE__, __LINE__, #expression))
#else
#define SL_HOLDS(expression) (!!(expression))
#endif

#endif
