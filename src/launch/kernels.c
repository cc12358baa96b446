#include "launch/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void sl_kernels_init(struct sl_kernels *kernels, const struct sl_backend *backend)
{
    *kernels = (struct sl_kernels){.backend = backend, .count = 1};
}

void sl_kernels_close(struct sl_kernels *kernels)
{
    for (uint32_t k = 1; k < kernels->count; k++) {
        free(kernels->kernels[k].offsets);
        free(kernels->kernels[k].words);
        free(kernels->kernels[k].evidence);
    }
    free(kernels->kernels);
    sl_map_free(&kernels->by_handle);
    *kernels = (struct sl_kernels){0};
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0;
    for (; *text; text++) hash = sl_hash_word(hash, (unsigned char)*text);
    return hash;
}

static uint64_t hash_layout(const struct sl_kernel_layout *layout)
{
    uint64_t hash = sl_hash_word(hash_text(layout->name), layout->parameter_count);
    for (uint32_t p = 0; p < layout->parameter_count; p++)
        hash = sl_hash_word(hash, (uint64_t)layout->offsets[p] << 32 | layout->sizes[p]);
    return hash;
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

/* A pointer is aligned in the parameter block; the caller's copy may be unaligned. */
static bool list_words(struct sl_kernel *kernel)
{
    for (int pass = 0; pass < 2; pass++) {
        uint32_t count = 0;
        for (uint32_t p = 0; p < kernel->parameter_count; p++)
            for (uint32_t at = -kernel->offsets[p] & 7; at + 8 <= kernel->sizes[p]; at += 8) {
                if (pass) kernel->words[count] = p << 16 | at;
                count++;
            }
        kernel->word_count = count;
        if (pass) continue;
        kernel->words = malloc(count * sizeof *kernel->words + 1);
        kernel->evidence = calloc(count + 1, sizeof *kernel->evidence);
        if (!kernel->words || !kernel->evidence) return false;
    }
    return true;
}

uint32_t sl_kernels_know(struct sl_kernels *kernels, const struct sl_kernel_layout *layout)
{
    uint64_t hash = hash_layout(layout);
    uint32_t known = find_by_layout(kernels, layout, hash);
    if (known) return known;
    if (!sl_grow(&kernels->kernels, &kernels->capacity, kernels->count, sizeof *kernels->kernels)) return 0;
    struct sl_kernel *kernel = &kernels->kernels[kernels->count];
    size_t bytes = layout->parameter_count * sizeof *layout->offsets;
    *kernel =
        (struct sl_kernel){.name_hash = hash, .name = strdup(layout->name), .offsets = malloc(2 * bytes + 1)};
    if (!kernel->name || !kernel->offsets) {
        free(kernel->offsets);
        return 0;
    }
    kernel->meets_peers = sl_kernel_is_collective(layout->name);
    kernel->parameter_count = layout->parameter_count;
    kernel->sizes = kernel->offsets + layout->parameter_count;
    memcpy(kernel->offsets, layout->offsets, bytes);
    memcpy(kernel->sizes, layout->sizes, bytes);
    kernel->lists = sl_address_lists_of(layout->name, layout->parameter_count, layout->sizes);
    if (!list_words(kernel)) {
        free(kernel->words);
        free(kernel->evidence);
        free(kernel->offsets);
        return 0;
    }
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
