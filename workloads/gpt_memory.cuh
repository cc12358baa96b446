/* The GPT trainer's device memory: what is allocated in which way, how much of it lives, and how it fails.
 *
 * A tensor set is a list of named float tensors (all weights, all activations, ...). With `malloc`, `managed`
 * and `async` each tensor is an allocation of its own, taken and dropped one by one; with `slab` the whole
 * set is one allocation, made when its first tensor is taken. */
#ifndef GPT_MEMORY_CUH
#define GPT_MEMORY_CUH

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

/* The program's name in its messages; another program that uses these headers says its own before. */
#ifndef PROGRAM
#define PROGRAM "gpt"
#endif

enum Allocator { ALLOCATOR_MALLOC, ALLOCATOR_SLAB, ALLOCATOR_MANAGED, ALLOCATOR_ASYNC };
enum { EXIT_USAGE = 2, EXIT_OUT_OF_MEMORY = 3 };

/* Counts bytes as requested, not what the driver makes of them. */
struct Memory {
    enum Allocator allocator;
    size_t live_bytes, peak_bytes;
};

struct Tensor {
    char name[32];
    size_t count, offset; /* floats; the offset counts from the slab's start */
    float *data;          /* NULL while not taken */
};

struct TensorSet {
    const char *name;
    struct Memory *memory;
    struct Tensor *tensors;
    int count;
    float *slab;
    size_t slab_floats;
};

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, PROGRAM ": %s: %s\n", what, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

static void *host_allocate(size_t bytes)
{
    void *data = calloc(1, bytes ? bytes : 1);
    if (data) return data;
    fprintf(stderr, PROGRAM ": out of host memory: needed %zu bytes\n", bytes);
    exit(EXIT_OUT_OF_MEMORY);
}

/* `stream` matters to `async` only. Ends the program with its own message when the device has no room for
 * `bytes`. */
static void *memory_take_on(cudaStream_t stream, struct Memory *memory, size_t bytes, const char *set,
                            const char *name)
{
    void *data = NULL;
    const cudaError_t error = memory->allocator == ALLOCATOR_MANAGED
                                  ? cudaMallocManaged(&data, bytes, cudaMemAttachGlobal)
                              : memory->allocator == ALLOCATOR_ASYNC ? cudaMallocAsync(&data, bytes, stream)
                                                                     : cudaMalloc(&data, bytes);
    if (error == cudaErrorMemoryAllocation) {
        fprintf(stderr,
                PROGRAM ": out of device memory: needed %zu bytes for %s/%s (allocated so far %zu bytes)\n",
                bytes, set, name, memory->live_bytes);
        exit(EXIT_OUT_OF_MEMORY);
    }
    check(error, "device allocation");
    memory->live_bytes += bytes;
    if (memory->live_bytes > memory->peak_bytes) memory->peak_bytes = memory->live_bytes;
    return data;
}

static void memory_drop_on(cudaStream_t stream, struct Memory *memory, void *data, size_t bytes)
{
    if (memory->allocator == ALLOCATOR_ASYNC)
        check(cudaFreeAsync(data, stream), "cudaFreeAsync");
    else
        check(cudaFree(data), "cudaFree");
    memory->live_bytes -= bytes;
}

static void *memory_take(struct Memory *memory, size_t bytes, const char *set, const char *name)
{
    return memory_take_on(NULL, memory, bytes, set, name);
}

static void memory_drop(struct Memory *memory, void *data, size_t bytes)
{
    memory_drop_on(NULL, memory, data, bytes);
}

/* --- Tensor sets --- */

/* `capacity`: how many tensors will be added at most. */
static void set_start(struct TensorSet *set, const char *name, struct Memory *memory, int capacity)
{
    *set = (struct TensorSet){name, memory, NULL, 0, NULL, 0};
    set->tensors = (struct Tensor *)host_allocate(capacity * sizeof(struct Tensor));
}

/* A negative layer stands for a tensor outside of the layers. */
static void set_add(struct TensorSet *set, int layer, const char *name, size_t count)
{
    struct Tensor *tensor = &set->tensors[set->count++];
    if (layer < 0)
        snprintf(tensor->name, sizeof tensor->name, "%s", name);
    else
        snprintf(tensor->name, sizeof tensor->name, "layer%d.%s", layer, name);
    tensor->count = count;
    tensor->offset = set->slab_floats;
    set->slab_floats += (count + 63) / 64 * 64; /* every tensor starts at a multiple of 256 bytes */
}

/* A set with the tensors of `model`, none of them taken. */
static void set_start_like(struct TensorSet *set, const char *name, const struct TensorSet *model)
{
    set_start(set, name, model->memory, model->count);
    for (int i = 0; i < model->count; i++) set_add(set, -1, model->tensors[i].name, model->tensors[i].count);
}

static float *tensor_take(struct TensorSet *set, int index)
{
    struct Tensor *tensor = &set->tensors[index];
    if (set->memory->allocator != ALLOCATOR_SLAB) {
        tensor->data =
            (float *)memory_take(set->memory, tensor->count * sizeof(float), set->name, tensor->name);
    } else {
        if (!set->slab)
            set->slab =
                (float *)memory_take(set->memory, set->slab_floats * sizeof(float), set->name, "slab");
        tensor->data = set->slab + tensor->offset;
    }
    return tensor->data;
}

static void tensor_drop(struct TensorSet *set, int index)
{
    struct Tensor *tensor = &set->tensors[index];
    if (tensor->data && !set->slab) memory_drop(set->memory, tensor->data, tensor->count * sizeof(float));
    tensor->data = NULL;
}

static inline bool set_is_taken(const struct TensorSet *set)
{
    return set->tensors[0].data != NULL;
}

static void set_take(struct TensorSet *set)
{
    for (int i = 0; i < set->count; i++) tensor_take(set, i);
}

/* Frees the device memory; the set can be taken again. */
static void set_drop(struct TensorSet *set)
{
    for (int i = 0; i < set->count; i++) tensor_drop(set, i);
    if (set->slab) memory_drop(set->memory, set->slab, set->slab_floats * sizeof(float));
    set->slab = NULL;
}

static void set_finish(struct TensorSet *set)
{
    if (!set->tensors) return;
    set_drop(set);
    free(set->tensors);
    set->tensors = NULL;
}

/* How many pieces a pass over the whole set takes, and each of them: its tensors, or the one slab. */
static int set_pieces(const struct TensorSet *set)
{
    return set->slab ? 1 : set->count;
}
static float *piece_data(const struct TensorSet *set, int i)
{
    return set->slab ? set->slab : set->tensors[i].data;
}
static size_t piece_count(const struct TensorSet *set, int i)
{
    return set->slab ? set->slab_floats : set->tensors[i].count;
}

static inline void set_zero(struct TensorSet *set)
{
    for (int i = 0; i < set_pieces(set); i++)
        check(cudaMemsetAsync(piece_data(set, i), 0, piece_count(set, i) * sizeof(float)), "cudaMemsetAsync");
}

#endif
