/* Large tables that most processes never use: mapped at their first use. */
#ifndef SLUICE_TABLE_H
#define SLUICE_TABLE_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

/* The zeroed table of `bytes` bytes at *table, which is never unmapped. NULL: out of memory. Any thread. */
static inline void *sl_table_at(void *_Atomic *table, size_t bytes)
{
    void *there = atomic_load_explicit(table, memory_order_acquire);
    if (there) return there;
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return NULL;
    if (atomic_compare_exchange_strong(table, &there, made)) return made;
    munmap(made, bytes);
    return there;
}

#endif
