/* Memory that is freed while a stream still writes to it is given out again at once: whoever gets it comes
 * after that stream, whatever kind of stream it is. The device works as late as it may, so a wait that is
 * missing shows. */
#include <pthread.h>
#include <stdbool.h>

#include "adder.h"

#define WORDS 4096
#define MANY 80 /* more streams than have numbers of their own */

struct user {
    CUcontext context;
    CUstream stream;
    CUdeviceptr memory;
    uint32_t value;
};

static CUdeviceptr take(void)
{
    CUdeviceptr memory;
    ok(cuMemAlloc(&memory, 4 * WORDS));
    return memory;
}

static void write_and_free(struct user *user)
{
    user->memory = take();
    ok(cuMemsetD32Async(user->memory, user->value, WORDS, user->stream));
    ok(cuMemFree(user->memory));
}

static pthread_barrier_t freed, taken_over;

/* Lives on until its memory was taken over: the end of a thread ends the work of its own stream. */
static void *in_a_thread(void *user)
{
    ok(cuCtxSetCurrent(((struct user *)user)->context));
    write_and_free(user);
    pthread_barrier_wait(&freed);
    pthread_barrier_wait(&taken_over);
    return NULL;
}

/* The new owner writes, and waits for its own stream only. Everything else happens later, and must not show.
 */
static void switch_plan(const struct user *before, CUstream stream)
{
    uint32_t word = 0;
    CUdeviceptr memory = take();
    assert_int_equal(memory, before->memory);
    ok(cuMemsetD32Async(memory, before->value + 1, WORDS, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuCtxSynchronize());
    ok(cuMemcpyDtoHAsync(&word, memory + 4 * (WORDS - 1), sizeof word, stream));
    ok(cuStreamSynchronize(stream));
    assert_int_equal(word, before->value + 1);
    ok(cuMemFree(memory));
}

static void between_two_streams(void **state)
{
    CUstream streams[2];
    (void)state;
    for (int i = 0; i < 2; i++) ok(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    struct user user = {.stream = streams[0], .value = 10};
    write_and_free(&user);
    switch_plan(&user, streams[1]);
    for (int i = 0; i < 2; i++) ok(cuStreamDestroy(streams[i]));
}

static void between_the_default_streams_of_threads(void **state)
{
    (void)state;
    struct user user = {.stream = CU_STREAM_PER_THREAD, .value = 20};
    pthread_t thread;
    ok(cuCtxGetCurrent(&user.context));
    pthread_barrier_init(&freed, NULL, 2);
    pthread_barrier_init(&taken_over, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, in_a_thread, &user), 0);
    pthread_barrier_wait(&freed);
    switch_plan(&user, CU_STREAM_PER_THREAD);
    pthread_barrier_wait(&taken_over);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void between_streams_without_a_number(void **state)
{
    CUstream streams[MANY];
    CUdeviceptr memory = take();
    (void)state;
    for (int i = 0; i < MANY; i++) {
        ok(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        ok(cuMemsetD32Async(memory, 0, WORDS, streams[i]));
    }
    struct user user = {.stream = streams[MANY - 1], .value = 30};
    write_and_free(&user);
    switch_plan(&user, streams[MANY - 2]);
    ok(cuMemsetD32Async(memory, 0, WORDS, user.stream));
    write_and_free(&user);
    ok(cuStreamDestroy(user.stream)); /* its work goes on */
    switch_plan(&user, streams[MANY - 2]);
    for (int i = 0; i < MANY - 1; i++) ok(cuStreamDestroy(streams[i]));
}

/* The new owner is a graph, of whose node the driver may tell nothing. `in_order`: the memory is freed in the
 * order of the stream that writes to it, and nobody waits. */
static void take_over_by_graph(bool in_order)
{
    CUstream streams[2];
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUcontext context;
    uint32_t word = 0;
    for (int i = 0; i < 2; i++) ok(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    ok(cuCtxGetCurrent(&context));
    struct user user = {.stream = streams[0], .value = 40};
    if (in_order) {
        user.memory = take();
        ok(cuMemsetD32Async(user.memory, user.value, WORDS, user.stream));
        ok(cuMemFreeAsync(user.memory, user.stream));
    } else {
        write_and_free(&user);
    }
    CUdeviceptr memory = take();
    if (!in_order) assert_int_equal(memory, user.memory);
    CUDA_MEMSET_NODE_PARAMS set = {.dst = memory, .elementSize = 4, .value = 41, .width = WORDS, .height = 1};
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
    ok(cuGraphInstantiate(&exec, graph, 0));
    ok(cuGraphLaunch(exec, streams[1]));
    ok(cuStreamSynchronize(streams[1]));
    ok(cuCtxSynchronize());
    ok(cuMemcpyDtoH(&word, memory + 4 * (WORDS - 1), sizeof word));
    assert_int_equal(word, 41);
    ok(cuMemFree(memory));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    for (int i = 0; i < 2; i++) ok(cuStreamDestroy(streams[i]));
}

static void between_a_stream_and_a_graph(void **state)
{
    (void)state;
    take_over_by_graph(false);
    take_over_by_graph(true);
}

/* The new owner is a kernel, of whose parameters the driver may tell nothing. */
static void between_a_stream_and_a_kernel(void **state)
{
    CUstream streams[2];
    CUmodule module;
    CUfunction add;
    uint32_t word = 0;
    (void)state;
    for (int i = 0; i < 2; i++) ok(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    ok(cuModuleLoadData(&module, adder_ptx));
    ok(cuModuleGetFunction(&add, module, "add"));
    struct user user = {.stream = streams[0], .value = 50};
    write_and_free(&user);
    struct arguments arguments = {take(), WORDS, 1};
    assert_int_equal(arguments.data, user.memory);
    void *parameters[] = {&arguments.data, &arguments.count, &arguments.value};
    ok(cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, streams[1], parameters, NULL));
    ok(cuStreamSynchronize(streams[1]));
    ok(cuCtxSynchronize());
    ok(cuMemcpyDtoH(&word, arguments.data + 4 * (WORDS - 1), sizeof word));
    assert_int_equal(word, 51);
    ok(cuMemFree(arguments.data));
    ok(cuModuleUnload(module));
    for (int i = 0; i < 2; i++) ok(cuStreamDestroy(streams[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_two_streams),
        cmocka_unit_test(between_a_stream_and_a_graph),
        cmocka_unit_test(between_a_stream_and_a_kernel),
        cmocka_unit_test(between_the_default_streams_of_threads),
        cmocka_unit_test(between_streams_without_a_number),
    };
    return cmocka_run_group_tests(tests, use_device, NULL);
}
