/* cuLink...: collects texts, checks that they load together, and stores them in one image. They are linked
 * when the image is loaded. */
#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cudart/readable.h"
#include "handle.h"
#include "image.h"
#include "log.h"

#define MAGIC "SCLINK1"
#define TEXTS_MAX 65536u

/* The image: this header, `count` 64-bit sizes without the NULs, then the texts, each with its NUL */
struct header {
    char magic[8];
    uint64_t bytes, count; /* of the whole image; number of texts */
};

struct sc_link {
    struct sc_fatbin_images inputs;
    struct sc_jit_log log;
    void *image; /* of the last cuLinkComplete */
};

static bool add_text(struct sc_fatbin_images *images, char *text, size_t bytes, unsigned arch)
{
    struct sc_fatbin_image *items = realloc(images->items, (images->count + 1) * sizeof *items);
    if (!items) return false;
    images->items = items;
    items[images->count++] = (struct sc_fatbin_image){text, bytes, arch};
    return true;
}

bool sc_linked_is(const void *image, size_t bytes)
{
    if (!image || (bytes && bytes < sizeof(struct header))) return false;
    return strncmp(image, MAGIC, sizeof MAGIC) == 0; /* stops at the end of a shorter text */
}

CUresult sc_linked_read(const void *image, size_t bytes, struct sc_fatbin_images *out)
{
    struct header header;
    if (!bytes) bytes = sc_readable_bytes(&(struct sc_readable){0}, image);
    if (bytes < sizeof header) return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&header, image, sizeof header);
    uint64_t room = header.bytes - sizeof header, sizes = 8 * header.count;
    *out = (struct sc_fatbin_images){0};
    if (header.bytes > bytes || header.bytes < sizeof header || header.count > TEXTS_MAX || sizes > room)
        return CUDA_ERROR_INVALID_IMAGE;
    const char *at = (const char *)image + sizeof header + sizes;
    room -= sizes;
    for (uint64_t i = 0; i < header.count; i++) {
        uint64_t size;
        memcpy(&size, (const char *)image + sizeof header + 8 * i, 8);
        bool fits = size < room && at[size] == 0;
        char *text = fits ? malloc(size + 1) : NULL;
        if (!text || !add_text(out, text, size, 0)) {
            free(text);
            sc_fatbin_images_free(out);
            return fits ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
        }
        memcpy(text, at, size + 1);
        at += size + 1;
        room -= size + 1;
    }
    return CUDA_SUCCESS;
}

static void *make_image(const struct sc_fatbin_images *inputs, size_t *bytes)
{
    struct header header = {MAGIC, sizeof header + 8 * inputs->count, inputs->count};
    for (size_t i = 0; i < inputs->count; i++) header.bytes += inputs->items[i].bytes + 1;
    char *image = malloc(header.bytes), *at = image;
    if (!image) return NULL;
    memcpy(at, &header, sizeof header);
    at += sizeof header;
    for (size_t i = 0; i < inputs->count; i++, at += 8) {
        uint64_t size = inputs->items[i].bytes;
        memcpy(at, &size, 8);
    }
    for (size_t i = 0; i < inputs->count; i++) {
        memcpy(at, inputs->items[i].text, inputs->items[i].bytes + 1);
        at += inputs->items[i].bytes + 1;
    }
    *bytes = header.bytes;
    return image;
}

static CUresult add_input(struct sc_link *link, CUjitInputType type, const void *data, size_t bytes)
{
    struct sc_fatbin_images read = {0};
    if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY)
        return sc_refuse("cuLinkAddData", "an input that is neither PTX nor a fat binary");
    if (link->inputs.count >= TEXTS_MAX) return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_JIT_INPUT_PTX) { /* `bytes` may include the NUL or not */
        const char *end = memchr(data, 0, bytes);
        if (end) bytes = (size_t)(end - (const char *)data);
    }
    CUresult result = bytes ? sc_image_texts(data, bytes, &link->log, &read) : CUDA_ERROR_INVALID_IMAGE;
    for (size_t i = 0; i < read.count && !result; i++) {
        struct sc_fatbin_image *item = &read.items[i];
        if (add_text(&link->inputs, item->text, item->bytes, item->arch))
            item->text = NULL;
        else
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    sc_fatbin_images_free(&read);
    return result;
}

/* On success the lock is held. pre: like sc_enter. */
static CUresult enter(CUlinkState state, struct sc_link **out)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    if (!sc_handle_is(state, SC_HANDLE_LINK)) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    *out = (struct sc_link *)state;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLinkCreate_v2(unsigned int count, CUjit_option *options, void **values, CUlinkState *out)
{
    if (!out || (count && (!options || !values))) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_link *link = calloc(1, sizeof *link);
    if (!link || !sc_handle_add(link, SC_HANDLE_LINK)) {
        free(link);
        return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    sc_jit_log_find(&link->log, count, options, values);
    *out = (CUlinkState)link;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t bytes,
                                  const char *name, unsigned int count, CUjit_option *options, void **values)
{
    (void)name, (void)count, (void)options, (void)values;
    if (!data || !bytes) return CUDA_ERROR_INVALID_VALUE;
    struct sc_link *link;
    CUresult result = enter(state, &link);
    return result ? result : sc_leave(add_input(link, type, data, bytes));
}

CUresult CUDAAPI cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                                  unsigned int count, CUjit_option *options, void **values)
{
    (void)count, (void)options, (void)values;
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    struct sc_link *link;
    CUresult result = enter(state, &link);
    if (result) return result;
    void *data = NULL;
    size_t bytes = 0;
    result = sc_file_read(path, &data, &bytes);
    if (!result) result = add_input(link, type, data, bytes);
    free(data);
    return sc_leave(result);
}

CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **image, size_t *bytes)
{
    if (!image) return CUDA_ERROR_INVALID_VALUE;
    struct sc_link *link;
    CUresult result = enter(state, &link);
    if (result) return result;
    size_t size = 0;
    result = sc_image_check(&link->inputs, &link->log);
    void *made = result ? NULL : make_image(&link->inputs, &size);
    if (!result && !made) result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result) return sc_leave(result);
    free(link->image);
    link->image = made;
    *image = made;
    if (bytes) *bytes = size;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLinkDestroy(CUlinkState state)
{
    struct sc_link *link;
    CUresult result = enter(state, &link);
    if (result) return result;
    sc_handle_remove(link);
    sc_fatbin_images_free(&link->inputs);
    free(link->image);
    free(link);
    return sc_leave(CUDA_SUCCESS);
}
