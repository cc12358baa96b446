#include "launch/kernels.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/grow.h"

#define MOST_LISTS 5

/* The most tensors and blocks of a launch by the number of lists, and the sizes of the integers for lengths
 * and indices. */
struct limits {
    uint32_t tensors[MOST_LISTS], with_scalars[MOST_LISTS];
    uint32_t with_large_scalars[MOST_LISTS]; /* complex<double> */
    uint32_t blocks[MOST_LISTS];
    uint32_t length_bytes, index_bytes;
};

static const struct limits versions[] = {
    {{110, 64, 48, 36, 30}, {96, 64, 48, 36, 30}, {72, 60}, {320, 320, 320, 320, 320}, 4, 1},
    {{110, 64, 48, 36, 30}, {96, 64, 48, 36, 30}, {72, 60, 60, 60}, {320, 320, 320, 320, 320}, 8, 1},
    {{770, 448, 336, 252, 210}, {672, 448, 336, 252, 210}, {504, 420}, {2240, 2240, 2240, 2240, 2240}, 8, 2},
    {{256, 256, 256, 256, 256},
     {256, 256, 256, 256, 256},
     {194, 182, 170, 158},
     {5272, 4863, 4453, 4044, 3634},
     8,
     1},
};

static uint32_t aligned(uint32_t offset, uint32_t to)
{
    return (offset + to - 1) / to * to;
}

/* The structure: addresses, lengths, then scalars or addresses of step counters if it has any, then the
 * tensor of each block, the part of it, and up to 8 more bytes. */
static struct sl_address_lists lay_out(const struct limits *limits, uint32_t lists, uint32_t tensors,
                                       uint32_t scalar_bytes, uint32_t counters, uint32_t *bytes)
{
    uint32_t at = lists * tensors * 8 + tensors * limits->length_bytes;
    struct sl_address_lists out = {.lists = lists, .capacity = tensors};
    if (scalar_bytes) at = aligned(at, scalar_bytes) + tensors * scalar_bytes;
    if (counters) {
        out.more_at = aligned(at, 8);
        out.more_capacity = counters;
        at = out.more_at + 8 * counters;
    }
    out.index_at = at;
    out.index_bytes = limits->index_bytes;
    out.blocks = limits->blocks[lists - 1];
    *bytes = aligned(at + out.blocks * out.index_bytes, 4) + 4 * out.blocks;
    return out;
}

/* Whether one of the parameters may be such a structure: of this size, plus at most a last number and its
 * alignment. */
static bool take(struct sl_address_lists *found, struct sl_address_lists lists, uint32_t bytes,
                 uint32_t parameter_count, const uint32_t *sizes)
{
    for (uint32_t p = 0; p < parameter_count; p++) {
        if (sizes[p] < bytes || sizes[p] - bytes > 8) continue;
        lists.parameter = p;
        *found = lists;
        return true;
    }
    return false;
}

/* The number of lists, 1 to 5: the first integer template argument after `mark` in a mangled name; 0:
 * none. */
static uint32_t lists_behind(const char *name, const char *mark)
{
    const char *at = strstr(name, mark);
    at = at ? strstr(at + strlen(mark), "Li") : NULL;
    return at && at[2] >= '1' && at[2] <= '0' + MOST_LISTS && at[3] == 'E' ? (uint32_t)(at[2] - '0') : 0;
}

static struct sl_address_lists tensor_lists(const char *name, uint32_t count, const uint32_t *sizes)
{
    uint32_t plain = lists_behind(name, "18TensorListMetadataI"),
             scalars = lists_behind(name, "TensorListScalarListMetadataI"),
             counters = lists_behind(name, "FusedOptimizerTensorListMetadataI");
    uint32_t lists = plain ? plain : scalars ? scalars : counters;
    bool large = strstr(name, "complexIdE");
    uint32_t from = !scalars ? 0 : large ? 16 : 1, to = !scalars ? 0 : large ? 16 : 8;
    struct sl_address_lists found = {0};
    for (uint32_t k = 0; lists && k < sizeof versions / sizeof versions[0]; k++) {
        const struct limits *limits = &versions[k];
        const uint32_t *tensors = !scalars ? limits->tensors
                                  : large  ? limits->with_large_scalars
                                           : limits->with_scalars;
        for (uint32_t scalar_bytes = from; scalar_bytes <= to;
             scalar_bytes = scalar_bytes ? 2 * scalar_bytes : 1) {
            uint32_t bytes, more = counters ? limits->with_scalars[lists - 1] : 0;
            struct sl_address_lists out =
                lay_out(limits, lists, tensors[lists - 1], scalar_bytes, more, &bytes);
            if (out.capacity && take(&found, out, bytes, count, sizes)) return found;
        }
    }
    return found;
}

/* torch.cat: the second parameter begins with the inputs' addresses. Their number is the kernel's last
 * template argument but one. */
static struct sl_address_lists concatenated(const char *name, uint32_t count, const uint32_t *sizes)
{
    struct sl_address_lists none = {0};
    const char *at = strstr(name, "CatArrayBatchedCopy"), *end = at ? strstr(at, "EEEv") : NULL;
    unsigned long last = 0, before = 0;
    if (!end || count < 2) return none;
    while ((at = strstr(at, "Li")) && at < end) {
        char *behind;
        before = last;
        last = strtoul(at + 2, &behind, 10);
        at = *behind == 'E' ? behind : at + 2;
    }
    if (!before || before > sizes[1] / 8) return none;
    return (struct sl_address_lists){.parameter = 1, .lists = 1, .capacity = (uint32_t)before};
}

void sl_kernels_init(struct sl_kernels *kernels, const struct sl_backend *backend)
{
    *kernels = (struct sl_kernels){.backend = backend, .count = 1};
}

/* Frees what the kernel holds but its name. Accepts a half-built one. */
static void release(struct sl_kernel *kernel)
{
    free(kernel->offsets);
    free(kernel->words);
}

void sl_kernels_close(struct sl_kernels *kernels)
{
    for (uint32_t k = 1; k < kernels->count; k++) release(&kernels->kernels[k]);
    free(kernels->kernels);
    sl_map_free(&kernels->by_handle);
    *kernels = (struct sl_kernels){0};
}

/* Finds the same kernel under another handle, or loaded again: its number, and thus its signatures, stay.
 * Other kernels may share the name, and parameters are read as far as the layout says, so the layout must
 * match too. */
static uint32_t find_by_layout(const struct sl_kernels *kernels, const struct sl_kernel_layout *layout,
                               uint64_t hash)
{
    size_t bytes = layout->parameter_count * sizeof *layout->offsets;
    for (uint32_t k = 1; k < kernels->count; k++) {
        const struct sl_kernel *kernel = &kernels->kernels[k];
        if (kernel->name_hash == hash && kernel->parameter_count == layout->parameter_count &&
            !memcmp(kernel->offsets, layout->offsets, bytes) && !memcmp(kernel->sizes, layout->sizes, bytes))
            return k;
    }
    return 0;
}

/* The entry of the word `at` bytes from the beginning of `parameter`: see struct sl_word_evidence. */
static uint32_t entry_of(const struct sl_address_lists *lists, uint32_t parameter, uint32_t at)
{
    if (!lists->capacity || parameter != lists->parameter) return 0;
    if (at / 8 < lists->lists * lists->capacity) return 1 + at / 8 % lists->capacity;
    bool more = at >= lists->more_at && (at - lists->more_at) / 8 < lists->more_capacity;
    return more ? 1 + (at - lists->more_at) / 8 : SL_NONE;
}

/* Makes the kernel's table of evidence. A pointer is aligned in the parameter block; the caller's copy may be
 * unaligned. */
static bool list_words(struct sl_kernel *kernel)
{
    size_t most = 1;
    for (uint32_t p = 0; p < kernel->parameter_count; p++) most += kernel->sizes[p] / 8;
    kernel->words = calloc(most, sizeof *kernel->words);
    if (!kernel->words) return false;
    for (uint32_t p = 0; p < kernel->parameter_count; p++) {
        kernel->firsts[p] = kernel->word_count;
        for (uint32_t at = -kernel->offsets[p] & 7; at + 8 <= kernel->sizes[p]; at += 8)
            kernel->words[kernel->word_count++] =
                (struct sl_word_evidence){.where = p << 16 | at, .entry = entry_of(&kernel->lists, p, at)};
    }
    return true;
}

uint32_t sl_kernels_know(struct sl_kernels *kernels, const struct sl_kernel_layout *layout)
{
    uint32_t count = layout->parameter_count;
    uint64_t hash = sl_hash_word(sl_hash_text(0, layout->name), count);
    for (uint32_t p = 0; p < count; p++)
        hash = sl_hash_word(hash, (uint64_t)layout->offsets[p] << 32 | layout->sizes[p]);
    uint32_t known = find_by_layout(kernels, layout, hash);
    if (known) return known;
    if (!sl_grow(&kernels->kernels, &kernels->capacity, kernels->count, sizeof *kernels->kernels)) return 0;
    struct sl_kernel kernel = {.name_hash = hash,
                               .name = strdup(layout->name),
                               .meets_peers = sl_kernel_is_collective(layout->name),
                               .parameter_count = count,
                               .offsets = malloc(3 * count * sizeof *kernel.offsets + 1),
                               .lists = strstr(layout->name, "multi_tensor_apply_kernel")
                                            ? tensor_lists(layout->name, count, layout->sizes)
                                            : concatenated(layout->name, count, layout->sizes)};
    if (kernel.offsets) {
        kernel.sizes = kernel.offsets + count;
        kernel.firsts = kernel.sizes + count;
        memcpy(kernel.offsets, layout->offsets, count * sizeof *kernel.offsets);
        memcpy(kernel.sizes, layout->sizes, count * sizeof *kernel.sizes);
    }
    if (!kernel.name || !kernel.offsets || !list_words(&kernel)) {
        release(&kernel);
        return 0;
    }
    kernels->kernels[kernels->count] = kernel;
    return kernels->count++;
}

static uint32_t ask(struct sl_kernels *kernels, uint64_t handle)
{
    uint32_t offsets[SL_MAX_PARAMETERS], sizes[SL_MAX_PARAMETERS];
    struct sl_kernel_layout layout = {.offsets = offsets, .sizes = sizes};
    if (kernels->backend->kernel_layout(kernels->backend->self, handle, &layout)) return 0;
    uint32_t number = sl_kernels_know(kernels, &layout);
    if (number) kernels->kernels[number].module = layout.module;
    return number;
}

uint32_t sl_kernels_find(struct sl_kernels *kernels, uint64_t handle)
{
    uint32_t number = sl_map_get(&kernels->by_handle, handle);
    if (number != SL_NONE) return number;
    number = ask(kernels, handle);
    sl_map_put(&kernels->by_handle, handle, number);
    return number;
}

void sl_kernels_forget(struct sl_kernels *kernels)
{
    kernels->version++;
    sl_map_free(&kernels->by_handle);
}

bool sl_word_note(struct sl_word_evidence *word, bool live)
{
    bool stale = sl_word_is_stale(word);
    uint8_t *count = live ? &word->live : &word->other;
    if (*count < UINT8_MAX) ++*count;
    return sl_word_is_stale(word) && !stale;
}

uint32_t sl_address_lists_used(const struct sl_address_lists *lists, const char *structure,
                               const uint32_t grid[3])
{
    if (!lists->blocks) return grid[1];
    if (!structure || grid[0] > lists->blocks) return lists->capacity;
    const char *index = structure + lists->index_at;
    uint32_t last = 0;
    for (uint32_t b = 0; b < grid[0]; b++) {
        uint16_t entry = (uint8_t)index[b];
        if (lists->index_bytes == 2) memcpy(&entry, index + 2 * (size_t)b, 2);
        if (entry > last) last = entry;
    }
    return last + 1;
}
