/* Marks: a program says what it is doing, and the trace that sluice records of it has these words, too:
 *
 *     sluice_mark_push("forward");
 *     ...
 *     sluice_mark_pop();
 *
 * "forward", "backward" and "update" are the phases that sluice knows.
 *
 * There is nothing to link with. Where sluice is not preloaded, or records no trace, each call costs a few
 * nanoseconds and does nothing. C99, C++98 and later; with GCC, Clang and what is compatible with them on
 * Linux, elsewhere the functions are there and do nothing. Programs that use NVTX need not use this: sluice
 * takes its ranges and marks as well.
 */
#ifndef SLUICE_MARKS_H
#define SLUICE_MARKS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void sluice_mark_function(int kind, const char *name); /* kind: as the trace's, see sluice/trace.h */
typedef int sluice_save_profile_function(void);

#if defined(__GNUC__) && defined(__linux__)
/* libsluice.so's, where it is loaded. */
extern void sluice_mark_v1(int kind, const char *name) __attribute__((weak));
extern int sluice_save_profile_v1(void) __attribute__((weak));
/* The C library's, under a name that no declaration of its own is in the way of. Linkers resolve the
 * references above for good where they make an executable for a fixed address. */
extern void *sluice_mark_look_up(void *where, const char *name) __asm__("dlsym") __attribute__((weak));

static inline sluice_mark_function *sluice_mark_find(void)
{
    static sluice_mark_function *found;
    static int looked;
    sluice_mark_function *function = sluice_mark_v1;
    if (function) return function;
    if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
        void *address = NULL;
        if (sluice_mark_look_up) address = sluice_mark_look_up(NULL, "sluice_mark_v1");
        __builtin_memcpy(&function, &address, sizeof address);
        __atomic_store_n(&found, function, __ATOMIC_RELAXED);
        __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&found, __ATOMIC_RELAXED);
}

static inline sluice_save_profile_function *sluice_save_profile_find(void)
{
    sluice_save_profile_function *function = sluice_save_profile_v1;
    void *address = NULL;
    if (function) return function;
    if (sluice_mark_look_up) address = sluice_mark_look_up(NULL, "sluice_save_profile_v1");
    __builtin_memcpy(&function, &address, sizeof address);
    return function;
}
#else
static inline sluice_mark_function *sluice_mark_find(void)
{
    return NULL;
}
static inline sluice_save_profile_function *sluice_save_profile_find(void)
{
    return NULL;
}
#endif

static inline void sluice_mark_tell(int kind, const char *name)
{
    sluice_mark_function *function = sluice_mark_find();
    if (function) function(kind, name);
}

/* Begins a range of the calling thread, inside of those that it began before. `name`: of at most 127 bytes,
 * longer ones are cut; it is copied. Any thread. */
static inline void sluice_mark_push(const char *name)
{
    sluice_mark_tell(0, name);
}

/* Ends the range that the calling thread began last. */
static inline void sluice_mark_pop(void)
{
    sluice_mark_tell(1, NULL);
}

/* A moment that is worth a name. */
static inline void sluice_mark(const char *name)
{
    sluice_mark_tell(2, name);
}

/* Writes what sluice learned of the program so far to the file that SLUICE_PROFILE names, as it does at exit
 * by itself: for a program that may be killed. 0: it is written. Not 0: there is no sluice, no
 * SLUICE_PROFILE, nothing that repeated itself yet, or an error, of which sluice writes a line. Takes
 * milliseconds, in which other threads' launches wait. Any thread. */
static inline int sluice_save_profile(void)
{
    sluice_save_profile_function *function = sluice_save_profile_find();
    return function ? function() : -1;
}

#ifdef __cplusplus
}
#endif

#endif
