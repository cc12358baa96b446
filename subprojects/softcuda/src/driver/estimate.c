#include "estimate.h"

#include <stdlib.h>
#include <string.h>

/* A thread that goes over a tensor in the usual way accesses one vector of it. */
#define BYTES_PER_THREAD UINT64_C(16)
/* One that is given a list of tensors, as an optimizer's are, goes over a piece of one in a loop. */
#define LIST_WORDS 12
#define BYTES_PER_THREAD_OF_LIST UINT64_C(512)

/* A tensor's address, and the end of the allocation that it lies in. */
struct tensor {
    uint64_t begin, end;
    bool twice; /* two words are the address */
};

static int by_begin(const void *a, const void *b)
{
    const struct tensor *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Sets out[] to what the parameters point to, by address, each once. Returns how many. */
static size_t find_tensors(struct sc_native_launch *launch, size_t words, struct tensor *out)
{
    struct sc_range range = {0};
    size_t found = 0, kept = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t address;
        memcpy(&address, (const char *)launch->parameters + i * sizeof address, sizeof address);
        if (address < range.begin || address >= range.end) {
            struct sc_range other;
            if (!launch->find(launch, address, &other)) continue;
            range = other;
        }
        out[found++] = (struct tensor){.begin = address, .end = range.end};
    }
    qsort(out, found, sizeof *out, by_begin);
    for (size_t i = 0; i < found; i++) {
        if (kept && out[kept - 1].begin == out[i].begin)
            out[kept - 1].twice = true;
        else
            out[kept++] = out[i];
    }
    return kept;
}

bool sc_estimate_describe(struct sc_native_launch *launch)
{
    const size_t words = launch->kernel->parameter_bytes / sizeof(uint64_t);
    struct tensor *tensors = malloc((words + 1) * sizeof *tensors);
    if (!tensors) return false;
    const size_t count = find_tensors(launch, words, tensors);
    const uint64_t reach =
        launch->threads * (count < LIST_WORDS ? BYTES_PER_THREAD : BYTES_PER_THREAD_OF_LIST);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const struct tensor *tensor = &tensors[i];
        uint64_t bytes = tensor->end - tensor->begin;
        if (i + 1 < count && tensor[1].begin < tensor->end) bytes = tensor[1].begin - tensor->begin;
        if (bytes > reach) bytes = reach;
        const struct sc_native_access access = {
            tensor->begin, bytes, bytes, 1, .reads = true, .writes = true, .either = !tensor->twice};
        ok = launch->touch(launch, &access);
    }
    free(tensors);
    return ok;
}

bool sc_estimate_run(struct sc_native_launch *launch)
{
    (void)launch;
    return true;
}
