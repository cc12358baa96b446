/* A thread captures in the strictest mode while another one launches more than the budget holds: breaks if a
 * question that sluice asks the driver for that ends the capture. The same program without sluice is no
 * different.
 */
#include "graph_blocks.h"

#include <pthread.h>

#define ROUNDS 3

static void *work(void *unused)
{
    CUstream own;
    (void)unused;
    ok(cuCtxSetCurrent(context));
    ok(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 1; i < BLOCKS; i++) {
            struct kernel kernel;
            make_kernel(&kernel, i, 1);
            ok(cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, own, kernel.node.kernelParams, NULL));
        }
    return own;
}

static void launches_beside_a_capture(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphExec exec;
    pthread_t thread;
    void *own;
    struct kernel kernel;
    make_kernel(&kernel, 0, 5);
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, kernel.node.kernelParams, NULL));
    assert_int_equal(pthread_create(&thread, NULL, work, NULL), 0);
    pthread_join(thread, &own);
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphInstantiate(&exec, graph, 0));
    ok(cuGraphLaunch(exec, stream));
    ok(cuStreamSynchronize(own));
    ok(cuStreamDestroy(own));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    expected[0] = 5;
    for (int i = 1; i < BLOCKS; i++) expected[i] = ROUNDS;
    compare();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(launches_beside_a_capture)};
    return cmocka_run_group_tests(tests, load, unload);
}
