#include "device/reserve.h"

#include <sys/mman.h>

static uint64_t whole(uint64_t bytes)
{
    return (bytes + SL_GIB - 1) & ~(SL_GIB - 1);
}

/* The device keeps using the physical pages, so they must stay the parent's: after fork, a write in the
 * parent would give it copies. */
enum sl_status sl_reserve(uint64_t bytes, uint64_t *address)
{
    uint64_t length = whole(bytes) + SL_GIB;
    char *given = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (given == MAP_FAILED) return SL_ERR_NO_MEMORY;
    uint64_t begin = whole((uint64_t)given), end = begin + whole(bytes);
    if (begin > (uint64_t)given) munmap(given, begin - (uint64_t)given);
    if (end < (uint64_t)given + length) munmap((char *)end, (uint64_t)given + length - end);
    if (mprotect((char *)begin, bytes, PROT_READ | PROT_WRITE) ||
        madvise((char *)begin, bytes, MADV_DONTFORK)) {
        munmap((char *)begin, whole(bytes));
        return SL_ERR_NO_MEMORY;
    }
    madvise((char *)begin, bytes, MADV_HUGEPAGE); /* for speed */
    *address = begin;
    return SL_OK;
}

void sl_unreserve(uint64_t address, uint64_t bytes)
{
    munmap((char *)address, whole(bytes));
}
