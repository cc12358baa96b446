/* Preloaded in front of everything: counts what is asked of the C library's allocator. */
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

#define SHOWN __attribute__((visibility("default")))

SHOWN unsigned long malloc_count;

SHOWN void *malloc(size_t bytes)
{
    __atomic_fetch_add(&malloc_count, 1, __ATOMIC_RELAXED);
    return __libc_malloc(bytes);
}

SHOWN void *calloc(size_t count, size_t bytes)
{
    __atomic_fetch_add(&malloc_count, 1, __ATOMIC_RELAXED);
    return __libc_calloc(count, bytes);
}

SHOWN void *realloc(void *memory, size_t bytes)
{
    __atomic_fetch_add(&malloc_count, 1, __ATOMIC_RELAXED);
    return __libc_realloc(memory, bytes);
}

SHOWN int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    __atomic_fetch_add(&malloc_count, 1, __ATOMIC_RELAXED);
    *memory = __libc_memalign(alignment, bytes);
    return *memory ? 0 : 12;
}
