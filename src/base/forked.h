/* Memory that a child process finds zeroed, however it was made: fork, or a clone() that no fork handler
 * sees. A child that shares the parent's memory (vfork, posix_spawn) finds it as it is. */
#ifndef SLUICE_FORKED_H
#define SLUICE_FORKED_H

#include <stdbool.h>
#include <sys/mman.h>

#if defined(__x86_64__)
#define SL_PAGE_BYTES 4096
#else
#define SL_PAGE_BYTES 65536
#endif

/* Gives a static object without initialiser pages of its own: alignment and padding are those of its type. */
#define SL_OWN_PAGES __attribute__((aligned(SL_PAGE_BYTES)))

/* pre: `object` was declared with SL_OWN_PAGES. False where the kernel cannot do it (before 4.14). */
static inline bool sl_forget_in_children(void *object, size_t bytes)
{
    return madvise(object, bytes, MADV_WIPEONFORK) == 0;
}

#endif
