#include "estimate.h"

#include <stdlib.h>
#include <string.h>

/* How far a thread gets in a tensor. In one that is read element by element, one vector. Blocks of two
 * dimensions go over rows, in loops. A kernel that is given a list of tensors, as an optimizer's are, goes
 * over a large piece of one in each block, and its lists may hold addresses that it does not need, so there
 * is a limit for all of them together. */
#define BYTES_OF_ELEMENTS UINT64_C(16)
#define BYTES_OF_ROWS UINT64_C(128)
#define BYTES_OF_PIECE UINT64_C(512)
#define BYTES_OF_ALL_PIECES UINT64_C(1536)
#define LEAST_OF_LIST 12 /* addresses */

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

/* Cuts the tensors to what the launch can be thought to access of each. */
static void cut(const struct sc_native_launch *launch, size_t count, struct tensor *tensors)
{
    const bool is_list = count >= LEAST_OF_LIST, has_rows = launch->block[1] > 1 || launch->block[2] > 1;
    uint64_t threads = 1, all = 0;
    for (int i = 0; i < 3; i++) threads *= (uint64_t)launch->grid[i] * launch->block[i];
    const uint64_t reach = threads * (is_list    ? BYTES_OF_PIECE
                                      : has_rows ? BYTES_OF_ROWS
                                                 : BYTES_OF_ELEMENTS);
    for (size_t i = 0; i < count; i++) {
        struct tensor *tensor = &tensors[i];
        if (i + 1 < count && tensor[1].begin < tensor->end) tensor->end = tensor[1].begin;
        if (tensor->end - tensor->begin > reach) tensor->end = tensor->begin + reach;
        all += (tensor->end - tensor->begin) * (tensor->twice ? 2 : 1);
    }
    const uint64_t limit = threads * BYTES_OF_ALL_PIECES;
    for (size_t i = 0; is_list && all > limit && i < count; i++) {
        const double part = (double)limit / (double)all;
        tensors[i].end = tensors[i].begin + (uint64_t)(part * (double)(tensors[i].end - tensors[i].begin));
    }
}

bool sc_estimate_describe(struct sc_native_launch *launch)
{
    const size_t words = launch->kernel->parameter_bytes / sizeof(uint64_t);
    struct tensor *tensors = malloc((words + 1) * sizeof *tensors);
    if (!tensors) return false;
    const size_t count = find_tensors(launch, words, tensors);
    cut(launch, count, tensors);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const uint64_t bytes = tensors[i].end - tensors[i].begin;
        const struct sc_native_access access = {
            tensors[i].begin, bytes, bytes, 1, .reads = true, .writes = true, .either = !tensors[i].twice};
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
