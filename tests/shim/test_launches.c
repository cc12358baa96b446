/* Every form of launch, over memory that is several times the budget. Each kernel adds a constant to a block;
 * the results are compared, and the software device's own statistics show at exit whether any kernel had to
 * read a block in place because its pointer was not seen (check_launches.py).
 */
#include "adder.h"

#include <stdlib.h>

#define BLOCK (2 * MIB)
#define BLOCKS 24
#define WORDS (BLOCK / sizeof(uint32_t))

static CUmodule module;
static CUfunction add;
static CUstream stream;
static CUdeviceptr blocks[BLOCKS];
static uint32_t expected[BLOCKS];

static int load(void **state)
{
    if (use_device(state) || cuModuleLoadData(&module, adder_ptx) || cuModuleGetFunction(&add, module, "add"))
        return -1;
    if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) return -1;
    for (int i = 0; i < BLOCKS; i++)
        if (cuMemAlloc(&blocks[i], BLOCK) || cuMemsetD32(blocks[i], 0, WORDS)) return -1;
    return cuCtxSynchronize();
}

static int unload(void **state)
{
    (void)state;
    for (int i = 0; i < BLOCKS; i++)
        if (cuMemFree(blocks[i])) return -1;
    return cuStreamDestroy(stream) || cuModuleUnload(module) ? -1 : 0;
}

typedef CUresult launch_fn(struct arguments *arguments);

static void *pointers[3];

static void **as_pointers(struct arguments *arguments)
{
    pointers[0] = &arguments->data;
    pointers[1] = &arguments->count;
    pointers[2] = &arguments->value;
    return pointers;
}

static CUresult with_pointers(struct arguments *arguments)
{
    return cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, NULL, as_pointers(arguments), NULL);
}

static CUresult with_packed_arguments(struct arguments *arguments)
{
    size_t bytes = sizeof(*arguments);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    return cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, NULL, extra);
}

static CUresult with_a_configuration(struct arguments *arguments)
{
    CUlaunchConfig config = {.gridDimX = WORDS / 256,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 256,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream};
    return cuLaunchKernelEx(&config, add, as_pointers(arguments), NULL);
}

/* As many blocks at a time as the device holds. */
static CUresult cooperatively(struct arguments *arguments)
{
    enum { BLOCKS_AT_ONCE = 64, THREADS = 1024, AT_ONCE = BLOCKS_AT_ONCE * THREADS };
    CUresult result = CUDA_SUCCESS;
    for (size_t w = 0; w < WORDS && result == CUDA_SUCCESS; w += AT_ONCE) {
        struct arguments part = {arguments->data + 4 * w, AT_ONCE, arguments->value};
        result = cuLaunchCooperativeKernel(add, BLOCKS_AT_ONCE, 1, 1, THREADS, 1, 1, 0, stream,
                                           as_pointers(&part));
    }
    return result;
}

/* The variant that programs get who compile for a default stream in each thread. */
static CUresult on_the_threads_own_stream(struct arguments *arguments)
{
    static CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, CUstream, void **, void **);
    if (!launch && cuGetProcAddress("cuLaunchKernel", (void **)&launch, 7000,
                                    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL))
        return CUDA_ERROR_NOT_FOUND;
    return launch(add, WORDS / 256, 1, 1, 256, 1, 1, 0, NULL, as_pointers(arguments), NULL);
}

static void run(launch_fn *launch)
{
    static uint32_t seen[WORDS];
    for (int round = 0; round < 3; round++)
        for (uint32_t i = 0; i < BLOCKS; i++) {
            struct arguments arguments = {blocks[i], WORDS, i + 1};
            ok(launch(&arguments));
            expected[i] += i + 1;
        }
    ok(cuCtxSynchronize());
    for (int i = 0; i < BLOCKS; i++) {
        ok(cuMemcpyDtoH(seen, blocks[i], BLOCK));
        for (size_t w = 0; w < WORDS; w++)
            if (seen[w] != expected[i])
                fail_msg("block %d, word %zu: %u, not %u", i, w, seen[w], expected[i]);
    }
}

static void launched_with_pointers(void **state)
{
    (void)state;
    run(with_pointers);
}

static void launched_with_packed_arguments(void **state)
{
    (void)state;
    run(with_packed_arguments);
}

static void launched_with_a_configuration(void **state)
{
    (void)state;
    run(with_a_configuration);
}

static void launched_cooperatively(void **state)
{
    (void)state;
    run(cooperatively);
}

static void launched_on_the_threads_own_stream(void **state)
{
    (void)state;
    run(on_the_threads_own_stream);
}

/* The handle of an unloaded function may come back for another one. */
static void launched_after_a_reload(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        ok(cuModuleUnload(module));
        ok(cuModuleLoadData(&module, adder_ptx));
        ok(cuModuleGetFunction(&add, module, "add"));
        run(with_pointers);
    }
}

#if CUDA_VERSION >= 13000
/* All of a batch's ranges must be there, not only the first copy's. */
static void copied_in_batches(void **state)
{
    (void)state;
    CUmemcpyAttributes how = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    size_t start = 0, bytes[2] = {BLOCK, BLOCK};
    for (int i = 0; i + 4 <= BLOCKS; i += 4) {
        CUdeviceptr to[2] = {blocks[i], blocks[i + 1]}, from[2] = {blocks[i + 2], blocks[i + 3]};
        ok(cuMemcpyBatchAsync(to, from, bytes, 2, &how, &start, 1, stream));
        CUextent3D extent = {BLOCK, 1, 1};
        CUDA_MEMCPY3D_BATCH_OP boxes[2];
        for (int k = 0; k < 2; k++)
            boxes[k] = (CUDA_MEMCPY3D_BATCH_OP){
                .src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {from[k], 0, 0, {0}}},
                .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {to[1 - k], 0, 0, {0}}},
                .extent = extent,
                .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
        ok(cuMemcpy3DBatchAsync(2, boxes, 0, stream));
        expected[i] = expected[i + 3];
        expected[i + 1] = expected[i + 2];
    }
    ok(cuStreamSynchronize(stream));
    run(with_pointers);
}
#endif

/* A refused launch is reported as it was, and leaves everything usable. */
static void a_refused_launch(void **state)
{
    (void)state;
    struct arguments arguments = {blocks[0], WORDS, 1};
    assert_int_equal(cuLaunchKernel(add, 0, 1, 1, 256, 1, 1, 0, NULL, as_pointers(&arguments), NULL),
                     CUDA_ERROR_INVALID_VALUE);
    run(with_pointers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launched_with_pointers),
        cmocka_unit_test(launched_with_packed_arguments),
        cmocka_unit_test(launched_with_a_configuration),
        cmocka_unit_test(launched_cooperatively),
        cmocka_unit_test(launched_on_the_threads_own_stream),
        cmocka_unit_test(launched_after_a_reload),
#if CUDA_VERSION >= 13000
        cmocka_unit_test(copied_in_batches),
#endif
        cmocka_unit_test(a_refused_launch),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
