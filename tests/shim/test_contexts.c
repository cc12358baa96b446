/* Which context is current, from call to call: what the driver refuses without one is refused with sluice as
 * well, memory is freed in any case, in order, and a context that follows another is managed like it. */
#include "adder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BYTES MIB
#define WORDS (BYTES / 4)
#define VIRTUAL_BYTES (768 * MIB)
#define LAUNCHES 6
#define refused(call) assert_int_equal(call, CUDA_ERROR_INVALID_CONTEXT)

static CUcontext primary;
static CUfunction add;

static int set_up(void **state)
{
    CUmodule module;
    if (use_device(state) || cuCtxGetCurrent(&primary) || cuModuleLoadData(&module, adder_ptx)) return -1;
    return cuModuleGetFunction(&add, module, "add") == CUDA_SUCCESS ? 0 : -1;
}

/* Whether memory is expected to be sluice's: not in a run without it, or if it only records. */
static bool is_managing(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "libsluice") && !getenv("SLUICE_POLICY");
}

static void launch_add(CUstream stream, CUdeviceptr data, uint32_t value)
{
    uint32_t count = WORDS;
    void *parameters[] = {&data, &count, &value};
    ok(cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

/* All of it, before anything else begins. */
static void set_words(CUdeviceptr data, uint32_t value)
{
    ok(cuMemsetD32(data, value, WORDS));
    ok(cuCtxSynchronize());
}

static void expect_words(CUdeviceptr data, uint32_t value)
{
    uint32_t first = 0, last = 0;
    ok(cuMemcpyDtoH(&first, data, 4));
    ok(cuMemcpyDtoH(&last, data + BYTES - 4, 4));
    assert_int_equal(first, value);
    assert_int_equal(last, value);
}

/* --- the ways to have no context */

static void take_away_by_pop(void)
{
    CUcontext popped;
    ok(cuCtxPopCurrent(&popped));
    assert_ptr_equal(popped, primary);
}

static void take_away_by_set(void)
{
    ok(cuCtxSetCurrent(NULL));
}

struct in_thread {
    void (*run)(void *argument);
    void *argument;
};

static void *run_in_thread(void *argument)
{
    const struct in_thread *in = argument;
    in->run(in->argument);
    return NULL;
}

/* Runs it where no context is current: in this thread after each way to take it away, and in one that never
 * had any. */
static void without_a_context(void (*run)(void *argument), void *argument, int way)
{
    pthread_t thread;
    struct in_thread in = {run, argument};
    if (way == 2) {
        assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &in), 0);
        pthread_join(thread, NULL);
        return;
    }
    (way ? take_away_by_set : take_away_by_pop)();
    run(argument);
    ok(cuCtxSetCurrent(primary));
}
enum { WAYS = 3 };

/* --- what is refused */

struct subject {
    CUdeviceptr memory, ordered;
    CUstream stream;
    CUmemoryPool pool;
};

static void allocations_are_refused(const struct subject *s)
{
    CUdeviceptr address = 7;
    size_t pitch = 7, free_bytes = 7, total_bytes = 7;
    refused(cuMemAlloc(&address, MIB));
    refused(cuMemAllocPitch(&address, &pitch, 100, 100, 4));
    refused(cuMemAllocAsync(&address, MIB, s->stream));
    refused(cuMemAllocAsync(&address, MIB, NULL));
    refused(cuMemAllocFromPoolAsync(&address, MIB, s->pool, s->stream));
    refused(cuMemAllocManaged(&address, MIB, CU_MEM_ATTACH_GLOBAL));
    refused(cuMemGetInfo(&free_bytes, &total_bytes));
    refused(cuMemFreeAsync(s->memory, s->stream));
    refused(cuMemFreeAsync(s->ordered, NULL));
    assert_true(address == 7 && pitch == 7 && free_bytes == 7 && total_bytes == 7);
    assert_int_equal(cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAlloc(NULL, MIB), CUDA_ERROR_INVALID_VALUE);
}

static void questions_are_refused(const struct subject *s)
{
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    CUmemLocation host = {.type = CU_MEM_LOCATION_TYPE_HOST};
    CUipcMemHandle handle;
    CUdeviceptr base = 7;
    unsigned type = 7, on = 1;
    void *values[] = {&type}, *as_host = (void *)(uintptr_t)s->memory; /* NOLINT(performance-no-int-to-ptr) */
    size_t bytes = 7;
    refused(cuPointerGetAttribute(&type, attribute, s->memory));
    refused(cuPointerGetAttributes(1, &attribute, values, s->memory));
    refused(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, s->memory));
    refused(cuMemGetAddressRange(&base, &bytes, s->memory));
    refused(cuIpcGetMemHandle(&handle, s->memory));
    refused(cuMemAdvise(s->memory, MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    refused(cuMemPrefetchAsync(s->memory, MIB, host, 0, s->stream));
    refused(cuMemRangeGetAttribute(&type, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, s->memory, MIB));
    refused(cuMemHostRegister(as_host, 4096, 0));
    assert_true(type == 7 && base == 7 && bytes == 7);
}

static void work_is_refused(const struct subject *s)
{
    uint32_t word = 7, count = WORDS, value = 1;
    CUdeviceptr data = s->memory;
    void *parameters[] = {&data, &count, &value};
    refused(cuMemsetD8(s->memory, 9, 4));
    refused(cuMemsetD32Async(s->memory, 9, 1, s->stream));
    refused(cuMemsetD8(s->memory, 9, BYTES + 1)); /* also beyond its end */
    refused(cuMemcpyDtoH(&word, s->memory, 4));
    refused(cuMemcpyDtoH(&word, s->memory + BYTES - 1, 4));
    refused(cuMemcpyHtoD(s->memory, &word, 4));
    refused(cuMemcpyDtoD(s->memory, s->ordered, 64));
    refused(cuMemcpyDtoDAsync(s->memory, s->ordered, 64, s->stream));
    refused(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, s->stream, parameters, NULL));
    assert_int_equal(word, 7);
}

static void all_is_refused(void *argument)
{
    const struct subject *s = argument;
    allocations_are_refused(s);
    questions_are_refused(s);
    work_is_refused(s);
}

static void without_a_context_the_driver_answers(void **state)
{
    struct subject s;
    (void)state;
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    ok(cuMemAlloc(&s.memory, BYTES));
    ok(cuStreamCreate(&s.stream, CU_STREAM_NON_BLOCKING));
    ok(cuMemAllocAsync(&s.ordered, BYTES, s.stream));
    ok(cuMemPoolCreate(&s.pool, &properties));
    set_words(s.memory, 5);
    for (int way = 0; way < WAYS; way++) {
        without_a_context(all_is_refused, &s, way);
        launch_add(s.stream, s.memory, 1);
        ok(cuStreamSynchronize(s.stream));
        expect_words(s.memory, 6 + (uint32_t)way);
    }
    ok(cuMemFree(s.memory));
    ok(cuMemFreeAsync(s.ordered, s.stream));
    ok(cuMemPoolDestroy(s.pool));
    ok(cuStreamDestroy(s.stream));
}

/* --- what is freed */

static void free_it(void *argument)
{
    ok(cuMemFree(*(CUdeviceptr *)argument));
}

/* Work on the memory is queued when it is freed, and memory of its size is taken and used in another stream.
 */
static void freed_in_order(CUcontext current, int way)
{
    CUstream before, behind;
    CUdeviceptr first, second;
    ok(cuStreamCreate(&before, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&behind, CU_STREAM_NON_BLOCKING));
    for (int round = 0; round < 3; round++) {
        ok(cuMemAlloc(&first, BYTES));
        ok(cuMemsetD32Async(first, 1, WORDS, before));
        for (int i = 0; i < LAUNCHES; i++) launch_add(before, first, 1);
        if (current) {
            ok(cuCtxPushCurrent(current));
            free_it(&first);
            ok(cuCtxPopCurrent(NULL));
        } else {
            without_a_context(free_it, &first, way);
        }
        ok(cuMemAlloc(&second, BYTES));
        ok(cuMemsetD32Async(second, 100, WORDS, behind));
        launch_add(behind, second, 7);
        ok(cuStreamSynchronize(behind));
        ok(cuStreamSynchronize(before));
        expect_words(second, 107);
        ok(cuMemFree(second));
    }
    ok(cuStreamDestroy(before));
    ok(cuStreamDestroy(behind));
}

static void without_a_context_memory_is_freed(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) freed_in_order(NULL, way);
}

/* The memory that a thread without a context freed is counted as free. */
static void what_is_freed_is_free(void **state)
{
    size_t before, after, total;
    CUdeviceptr memory;
    (void)state;
    ok(cuMemGetInfo(&before, &total));
    for (int way = 0; way < WAYS; way++) {
        ok(cuMemAlloc(&memory, BYTES));
        without_a_context(free_it, &memory, way);
        ok(cuMemGetInfo(&after, &total));
        assert_int_equal(after, before);
        assert_int_equal(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
    }
}

static void destroy_stream(void *argument)
{
    ok(cuStreamDestroy(*(CUstream *)argument));
}

/* The work of a stream that is destroyed without a context comes before a free as well. */
static void a_stream_destroyed_without_a_context(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        CUdeviceptr memory, next;
        CUstream before, behind;
        ok(cuStreamCreate(&before, CU_STREAM_NON_BLOCKING));
        ok(cuStreamCreate(&behind, CU_STREAM_NON_BLOCKING));
        ok(cuMemAlloc(&memory, BYTES));
        for (int i = 0; i < LAUNCHES; i++) launch_add(before, memory, 1);
        without_a_context(destroy_stream, &before, way);
        ok(cuMemFree(memory));
        ok(cuMemAlloc(&next, BYTES));
        ok(cuMemsetD32Async(next, 3, WORDS, behind));
        ok(cuStreamSynchronize(behind));
        ok(cuCtxSynchronize());
        expect_words(next, 3);
        ok(cuMemFree(next));
        ok(cuStreamDestroy(behind));
    }
}

/* --- a second context */

/* Its memory is the driver's, and counts. */
static void a_second_context_beside_the_first(void **state)
{
    CUcontext second;
    CUdeviceptr managed, beside;
    size_t at_first, before, during, after, total;
    (void)state;
    ok(cuMemGetInfo(&at_first, &total));
    ok(cuMemAlloc(&managed, BYTES));
    set_words(managed, 4);
    ok(cuMemGetInfo(&before, &total));
    ok(cuCtxCreate(&second, NULL, 0, 0));
    if (is_managing()) assert_false(managed_here(VIRTUAL_BYTES));
    ok(cuMemAlloc(&beside, BYTES));
    set_words(beside, 9);
    ok(cuMemcpyDtoD(beside, managed, BYTES / 2));
    expect_words(managed, 4);
    ok(cuCtxPushCurrent(primary));
    ok(cuMemGetInfo(&during, &total));
    assert_true(before - during >= BYTES);
    launch_add(NULL, managed, 1);
    ok(cuCtxSynchronize());
    expect_words(managed, 5);
    freed_in_order(second, 0); /* the first one's memory, with the second one current */
    ok(cuCtxPopCurrent(NULL));
    ok(cuMemFree(managed));
    ok(cuCtxDestroy(second)); /* with its memory */
    ok(cuMemGetInfo(&after, &total));
    assert_int_equal(after, at_first);
    if (is_managing()) assert_true(managed_here(VIRTUAL_BYTES));
}

/* Memory of the first one is freed with the second one current: its work that uses the memory ends before
 * that is given out again, as with the driver. */
static void freed_in_the_second(void **state)
{
    CUcontext second;
    CUdeviceptr memory, next, source;
    CUstream stream, behind;
    (void)state;
    ok(cuStreamCreate(&behind, CU_STREAM_NON_BLOCKING));
    ok(cuMemAlloc(&memory, BYTES));
    ok(cuCtxCreate(&second, NULL, 0, 0));
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuMemAlloc(&source, BYTES));
    ok(cuMemsetD32Async(source, 1, WORDS, stream));
    for (uint32_t round = 0; round < 4; round++) {
        ok(cuMemcpyDtoDAsync(memory, source, BYTES, stream));
        ok(round % 2 ? cuMemFreeAsync(memory, stream) : cuMemFree(memory));
        ok(cuCtxPushCurrent(primary));
        ok(cuMemAlloc(&next, BYTES));
        ok(cuMemsetD32Async(next, 2, WORDS, behind));
        ok(cuStreamSynchronize(behind));
        ok(cuCtxPopCurrent(NULL));
        ok(cuStreamSynchronize(stream));
        expect_words(next, 2);
        memory = next;
    }
    ok(cuCtxDestroy(second));
    ok(cuMemFree(memory));
    ok(cuStreamDestroy(behind));
}

/* --- the next context */

enum { MANY = 40 }; /* more than the budget has room for */

static void is_whole(void)
{
    CUdeviceptr memory[MANY];
    if (is_managing()) assert_true(managed_here(VIRTUAL_BYTES));
    for (uint32_t i = 0; i < MANY; i++) {
        ok(cuMemAlloc(&memory[i], BYTES));
        set_words(memory[i], i);
    }
    for (uint32_t i = 0; i < MANY; i++) expect_words(memory[i], i);
    for (uint32_t i = 0; i < MANY; i += 2) ok(cuMemFree(memory[i])); /* the others end with the context */
}

static void reset(void)
{
    ok(cuDevicePrimaryCtxReset(0));
    ok(cuDevicePrimaryCtxRetain(&primary, 0));
    ok(cuCtxSetCurrent(primary));
}

static void release(void)
{
    ok(cuDevicePrimaryCtxRelease(0));
    ok(cuDevicePrimaryCtxRetain(&primary, 0));
    ok(cuCtxSetCurrent(primary));
}

/* With the primary one out of the way. */
static void make_and_destroy(void)
{
    CUcontext own;
    ok(cuDevicePrimaryCtxReset(0));
    ok(cuCtxSetCurrent(NULL));
    ok(cuCtxCreate(&own, NULL, 0, 0));
    is_whole();
    ok(cuCtxDestroy(own));
    ok(cuDevicePrimaryCtxRetain(&primary, 0));
    ok(cuCtxSetCurrent(primary));
}

/* Each of more contexts than there can be at a time. */
static void the_next_context_is_like_the_last(void **state)
{
    static void (*const nexts[])(void) = {reset, release, make_and_destroy};
    (void)state;
    for (int round = 0; round < 36; round++) {
        if (round < 6)
            is_whole();
        else if (is_managing())
            assert_true(managed_here(VIRTUAL_BYTES));
        nexts[round % 3]();
    }
    is_whole();
}

/* What the program gets where the last one's chunks lay is its own. */
static void nothing_is_advised_for_the_last_ones_memory(void **state)
{
    CUdeviceptr memory, own;
    int device = 0;
    (void)state;
    ok(cuMemAlloc(&memory, BYTES));
    reset();
    ok(cuMemAllocManaged(&own, 2048 * MIB, CU_MEM_ATTACH_GLOBAL));
    ok(cuMemAlloc(&memory, BYTES));
    ok(cuMemRangeGetAttribute(&device, sizeof device, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, own, MIB));
    assert_int_equal(device, CU_DEVICE_INVALID);
    ok(cuMemFree(own));
    ok(cuMemFree(memory));
}

static struct {
    pthread_barrier_t turns;
    CUdeviceptr memory;
    CUstream stream;
    CUfunction add;
} later;

/* Has the context current all the time; the next one may have its handle. */
static void *launch_later(void *argument)
{
    CUdeviceptr first;
    (void)argument;
    ok(cuCtxSetCurrent(primary));
    ok(cuMemAlloc(&first, BYTES));
    launch_add(NULL, first, 1);
    ok(cuCtxSynchronize());
    pthread_barrier_wait(&later.turns);
    pthread_barrier_wait(&later.turns);
    uint32_t count = WORDS, value = 1;
    void *parameters[] = {&later.memory, &count, &value};
    for (int i = 0, refusals = 0; i < LAUNCHES; i++)
        if (cuLaunchKernel(later.add, WORDS / 256, 1, 1, 256, 1, 1, 0, later.stream, parameters, NULL)) {
            assert_in_range(++refusals, 1, LAUNCHES); /* the next one's handle may be another */
            ok(cuCtxSetCurrent(primary));
            i--;
        }
    return NULL;
}

static void a_thread_that_had_the_last_one(void **state)
{
    pthread_t thread;
    CUmodule module;
    CUstream behind;
    CUdeviceptr next;
    (void)state;
    assert_int_equal(pthread_barrier_init(&later.turns, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, launch_later, NULL), 0);
    pthread_barrier_wait(&later.turns);
    reset();
    ok(cuModuleLoadData(&module, adder_ptx));
    ok(cuModuleGetFunction(&later.add, module, "add"));
    ok(cuStreamCreate(&later.stream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&behind, CU_STREAM_NON_BLOCKING));
    ok(cuMemAlloc(&later.memory, BYTES));
    pthread_barrier_wait(&later.turns);
    pthread_join(thread, NULL);
    ok(cuMemFree(later.memory));
    ok(cuMemAlloc(&next, BYTES));
    ok(cuMemsetD32Async(next, 3, WORDS, behind));
    ok(cuStreamSynchronize(behind));
    ok(cuCtxSynchronize());
    expect_words(next, 3);
    add = later.add;
    ok(cuMemFree(next));
    ok(cuStreamDestroy(behind));
}

/* A context that lived beside the managed one is managed when it is left alone. */
static void the_one_that_is_left(void **state)
{
    CUcontext second;
    CUdeviceptr old, none;
    (void)state;
    ok(cuCtxCreate(&second, NULL, 0, 0));
    ok(cuMemAlloc(&old, BYTES));
    set_words(old, 6);
    if (is_managing()) assert_false(managed_here(VIRTUAL_BYTES));
    ok(cuDevicePrimaryCtxReset(0));
    is_whole();
    expect_words(old, 6);
    ok(cuMemFree(old));
    ok(cuCtxDestroy(second));
    assert_int_equal(cuMemAlloc(&none, MIB),
                     CUDA_ERROR_CONTEXT_IS_DESTROYED); /* the primary one is current */
}

static void a_context_that_is_not_the_programs_to_destroy(void **state)
{
    CUdeviceptr first, memory;
    (void)state;
    ok(cuMemAlloc(&first, BYTES));
    ok(cuMemAlloc(&memory, BYTES));
    set_words(memory, 2);
    assert_int_equal(cuCtxDestroy(primary), CUDA_ERROR_INVALID_CONTEXT);
    expect_words(memory, 2);
    if (is_managing()) assert_true(managed_here(VIRTUAL_BYTES));
    ok(cuMemFree(memory));
    ok(cuMemFree(first));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_context_the_driver_answers),
        cmocka_unit_test(without_a_context_memory_is_freed),
        cmocka_unit_test(what_is_freed_is_free),
        cmocka_unit_test(a_stream_destroyed_without_a_context),
        cmocka_unit_test(a_context_that_is_not_the_programs_to_destroy),
        cmocka_unit_test(a_second_context_beside_the_first),
        cmocka_unit_test(freed_in_the_second),
        cmocka_unit_test(a_thread_that_had_the_last_one),
        cmocka_unit_test(the_next_context_is_like_the_last),
        cmocka_unit_test(nothing_is_advised_for_the_last_ones_memory),
        cmocka_unit_test(the_one_that_is_left),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
