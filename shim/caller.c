#include "caller.h"

#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "trace/objects.h"

/* prefixes of the libraries' file names */
static const char *const sharing[] = {"libnccl", "libnvshmem", "nvshmem", "libuct_cuda"};

struct question {
    uintptr_t address;
    bool shares;
};

/* Does not use dladdr: see trace/sites.c. */
static int look_at(struct dl_phdr_info *object, size_t bytes, void *argument)
{
    struct question *question = argument;
    (void)bytes;
    if (!sl_object_holds(object, question->address)) return 0;
    const char *slash = strrchr(object->dlpi_name, '/'), *name = slash ? slash + 1 : object->dlpi_name;
    for (size_t i = 0; i < sizeof sharing / sizeof *sharing; i++)
        question->shares |= !strncmp(name, sharing[i], strlen(sharing[i]));
    return 1;
}

/* A cache of answers: each entry is the caller's address, with the answer in the top bit. Code lies below
 * 2^63. */
#define SHARES (UINT64_C(1) << 63)
static _Atomic uint64_t answers[64];

bool sl_caller_shares_memory(const void *caller)
{
    struct question question = {.address = (uintptr_t)caller};
    _Atomic uint64_t *answer = &answers[question.address * UINT64_C(0x9e3779b97f4a7c15) >> 58];
    uint64_t known = atomic_load_explicit(answer, memory_order_relaxed);
    if ((known & ~SHARES) == question.address) return known & SHARES;
    dl_iterate_phdr(look_at, &question);
    atomic_store_explicit(answer, question.address | (question.shares ? SHARES : 0), memory_order_relaxed);
    return question.shares;
}
