/* Memory that is zeroed in a child process, however it was made: by fork, or by a clone() that calls no fork
 * handler. A child that shares the parent's memory (vfork, posix_spawn) sees it unchanged. */
#ifndef SLUICE_FORKED_H
#define SLUICE_FORKED_H

#include <stdbool.h>
#include <sys/mman.h>

#if defined(__x86_64__)
#define SL_PAGE_BYTES 4096
#else
#define SL_PAGE_BYTES 65536
#endif

/* Gives a static object without initialiser pages of its own: its type's alignment and padding fill them. */
#define SL_OWN_PAGES __attribute__((aligned(SL_PAGE_BYTES)))

/* Precondition: `object` was declared with SL_OWN_PAGES. False: the kernel cannot do it (before 4.14). */
static inline bool sl_forget_in_children(void *object, size_t bytes)
{
    return madvise(object, bytes, MADV_WIPEONFORK) == 0;
}

#endif
