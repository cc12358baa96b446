/* Near misses: programs that look like the racy ones and are right. Nothing may be reported about them. */
#include <pthread.h>

#include "world.h"

static void event(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    let_wait(w, w->a, w->b);
    copy_words(w, w->y, w->x, w->b);
}

/* By way of a third stream, and an event that was recorded again since. */
static void event_chain(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    let_wait(w, w->a, w->blocking);
    let_wait(w, w->blocking, w->b);
    copy_words(w, w->y, w->x, w->b);
}

static void legacy(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->blocking));
    OK(cuMemsetD32Async(w->x, 2, COUNT, NULL));
    copy_words(w, w->y, w->x, w->blocking2);
}

/* The legacy stream waits for what a destroyed stream left, even if that was executed long ago. */
static void destroyed_stream(struct world *w)
{
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cuMemsetD32Async(w->x, 1, COUNT, stream));
    OK(cuStreamDestroy(stream));
    OK(cuMemsetD32Async(w->x, 2, COUNT, NULL));
}

static void stream_wait(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuStreamSynchronize(w->a));
    copy_words(w, w->y, w->x, w->b);
}

static void event_wait(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuEventRecord(w->event, w->a));
    OK(cuEventSynchronize(w->event));
    copy_words(w, w->y, w->x, w->b);
}

static void context_wait(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuCtxSynchronize());
    copy_words(w, w->y, w->x, w->b);
}

static void event_query(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuEventRecord(w->event, w->a));
    while (cuEventQuery(w->event) == CUDA_ERROR_NOT_READY) continue;
    copy_words(w, w->y, w->x, w->b);
}

static void stream_query(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    while (cuStreamQuery(w->a) == CUDA_ERROR_NOT_READY) continue;
    copy_words(w, w->y, w->x, w->b);
}

static void synchronous_copy(struct world *w)
{
    unsigned host[COUNT];
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->blocking));
    OK(cuMemcpyDtoH(host, w->x, BYTES));
    OK(cuMemsetD32Async(w->x, 2, COUNT, w->a));
}

static void synchronous_free(struct world *w)
{
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, BYTES));
    OK(cuMemsetD32Async(memory, 1, COUNT, w->a));
    OK(cuMemFree(memory));
    OK(cuMemAlloc(&memory, BYTES));
    OK(cuMemsetD32Async(memory, 1, COUNT, w->b));
}

/* Where the new memory is the old one, the free was over when it was given out. */
static void freed_in_stream_order(struct world *w)
{
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, BYTES));
    OK(cuMemsetD32Async(memory, 1, COUNT, w->a));
    OK(cuMemFreeAsync(memory, w->a));
    OK(cuMemAlloc(&memory, BYTES));
    OK(cuMemsetD32Async(memory, 1, COUNT, w->b));
}

/* Two kernels may get the same memory from malloc. */
static void heap(struct world *w)
{
    borrow(w, w->a);
    borrow(w, w->b);
}

static void discarded_flag(struct world *w)
{
    discard(w, w->managed, w->a);
    raise_flag(w, w->managed, w->a);
    look_at_flag(w, w->y, w->managed, w->a);
}

static void *submit_on_b(void *world)
{
    struct world *w = world;
    OK(cuCtxSetCurrent(w->context));
    copy_words(w, w->y, w->x, w->b);
    return NULL;
}

/* One thread waits, another one submits. */
static void other_thread(struct world *w)
{
    pthread_t thread;
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuStreamSynchronize(w->a));
    CHECK(!pthread_create(&thread, NULL, submit_on_b, w));
    CHECK(!pthread_join(thread, NULL));
}

static void CUDA_CB post(void *data)
{
    *(volatile bool *)data = true;
}

/* What comes before a host function is known to whoever knows that it ran. */
static void host_function(struct world *w)
{
    volatile bool posted = false;
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuLaunchHostFunc(w->a, post, (void *)&posted));
    OK(cuStreamSynchronize(w->a));
    CHECK(posted);
    copy_words(w, w->y, w->x, w->b);
}

static void atomics(struct world *w)
{
    count_up(w, w->x, w->a);
    count_up(w, w->x, w->b);
}

static void reads_of_a_flag(struct world *w)
{
    look_at_flag(w, w->y, w->x, w->a);
    copy_words(w, w->z, w->x, w->b);
}

static void flags(struct world *w)
{
    raise_flag(w, w->x, w->a);
    look_at_flag(w, w->y, w->x, w->b);
}

static void reads(struct world *w)
{
    copy_words(w, w->y, w->x, w->a);
    copy_words(w, w->z, w->x, w->b);
    OK(cuMemcpyDtoHAsync(w->pinned, w->x, BYTES, w->blocking));
}

/* Every word of the buffer is written by both. */
static void interleaved(struct world *w)
{
    write_every_other(w, w->x, w->a);
    write_every_other(w, w->x + 1, w->b);
}

static void rows(struct world *w)
{
    OK(cuMemsetD2D8Async(w->x, 64, 1, 32, 16, w->a));
    OK(cuMemsetD2D8Async(w->x + 32, 64, 1, 32, 16, w->b));
}

static void next_to_each_other(struct world *w)
{
    OK(cuMemsetD8Async(w->x, 1, 100, w->a));
    OK(cuMemsetD8Async(w->x + 100, 1, 100, w->b));
}

static void prefetch_beside_use(struct world *w)
{
    copy_words(w, w->managed, w->x, w->a);
    prefetch(w, w->managed, CU_MEM_LOCATION_TYPE_DEVICE, w->b);
    copy_words(w, w->y, w->managed, w->a);
    prefetch(w, w->managed, CU_MEM_LOCATION_TYPE_HOST, w->blocking);
}

static void reuse_same_stream(struct world *w)
{
    for (int i = 0; i < 3; i++) {
        CUdeviceptr memory = allocate(w->a);
        OK(cuMemsetD32Async(memory, 0, COUNT, w->a));
        copy_words(w, w->y, memory, w->a);
        OK(cuMemFreeAsync(memory, w->a));
    }
}

static void reuse_behind_event(struct world *w)
{
    CUdeviceptr memory = allocate(w->a), again;
    OK(cuMemsetD32Async(memory, 0, COUNT, w->a));
    OK(cuMemFreeAsync(memory, w->a));
    let_wait(w, w->a, w->b);
    again = allocate(w->b);
    OK(cuMemsetD32Async(again, 0, COUNT, w->b));
    OK(cuMemFreeAsync(again, w->b));
}

static void reuse_behind_wait(struct world *w)
{
    CUdeviceptr memory = allocate(w->a), again;
    OK(cuMemsetD32Async(memory, 0, COUNT, w->a));
    OK(cuMemFreeAsync(memory, w->a));
    OK(cuStreamSynchronize(w->a));
    again = allocate(w->b);
    OK(cuMemsetD32Async(again, 0, COUNT, w->b));
    OK(cuMemFreeAsync(again, w->b));
}

static void freed_behind_use(struct world *w)
{
    CUdeviceptr memory = allocate(w->a);
    OK(cuMemsetD32Async(memory, 0, COUNT, w->a));
    let_wait(w, w->a, w->b);
    copy_words(w, w->y, memory, w->b);
    let_wait(w, w->b, w->a);
    OK(cuMemFreeAsync(memory, w->a));
}

/* The host's wait for the stream makes the allocation known to all. */
static void allocated_behind_wait(struct world *w)
{
    CUdeviceptr memory = allocate(w->a);
    OK(cuStreamSynchronize(w->a));
    OK(cuMemsetD32Async(memory, 0, COUNT, w->b));
    OK(cuStreamSynchronize(w->b));
    OK(cuMemFreeAsync(memory, w->a));
}

static void discard_write_read(struct world *w)
{
    discard(w, w->managed, w->a);
    copy_words(w, w->managed, w->x, w->a);
    copy_words(w, w->y, w->managed, w->a);
}

static void discard_behind_read(struct world *w)
{
    copy_words(w, w->y, w->managed, w->a);
    let_wait(w, w->a, w->b);
    discard_and_prefetch(w, w->managed, w->b);
    let_wait(w, w->b, w->a);
    OK(cuMemsetD8Async(w->managed, 1, MANAGED_BYTES, w->a));
    OK(cuMemcpyDtoDAsync(w->y, w->managed, BYTES, w->a));
}

/* A kernel may read what it has written itself. */
static void discarded_scratch(struct world *w)
{
    discard(w, w->managed, w->a);
    shuffle(w, w->managed, w->a);
}

static void discarded_twice(struct world *w)
{
    discard(w, w->managed, w->a);
    discard(w, w->managed, w->b);
}

static void launch_twice(CUgraph graph, CUstream stream)
{
    CUgraphExec exec;
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphLaunch(exec, stream));
}

/* Branches that work on different memory, and meet. */
static void graph_edges(struct world *w)
{
    CUgraph graph;
    OK(cuStreamBeginCapture(w->a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    let_wait(w, w->a, w->b);
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuMemsetD32Async(w->y, 1, COUNT, w->b));
    let_wait(w, w->b, w->a);
    copy_words(w, w->x, w->y, w->a);
    OK(cuStreamEndCapture(w->a, &graph));
    launch_twice(graph, w->a);
    OK(cuMemsetD32Async(w->y, 1, COUNT, w->a));
}

/* Launches of one executable graph come one after the other, whatever their streams. */
static void graph_on_two_streams(struct world *w)
{
    CUgraph graph;
    CUgraphExec exec;
    OK(cuStreamBeginCapture(w->a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuStreamEndCapture(w->a, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, w->a));
    OK(cuGraphLaunch(exec, w->b));
}

static void graph_memory(struct world *w)
{
    CUgraph graph;
    OK(cuStreamBeginCapture(w->a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUdeviceptr memory = allocate(w->a);
    OK(cuMemsetD32Async(memory, 1, COUNT, w->a));
    let_wait(w, w->a, w->b);
    copy_words(w, w->y, memory, w->b);
    let_wait(w, w->b, w->a);
    OK(cuMemFreeAsync(memory, w->a));
    OK(cuStreamEndCapture(w->a, &graph));
    launch_twice(graph, w->a);
}

/* Every way to wait is enough for advice, and what is submitted behind advice is behind it. */
static void advice_behind_waits(struct world *w)
{
    copy_words(w, w->managed, w->x, w->a);
    OK(cuStreamSynchronize(w->a));
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY);
    prefetch(w, w->managed, CU_MEM_LOCATION_TYPE_DEVICE, w->a);
    copy_words(w, w->y, w->managed, w->a);
    OK(cuEventRecord(w->event, w->a));
    OK(cuEventSynchronize(w->event));
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_UNSET_READ_MOSTLY);
    count_up(w, w->managed, w->b);
    OK(cuEventRecord(w->event, w->b));
    while (cuEventQuery(w->event) == CUDA_ERROR_NOT_READY) continue;
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY);
    OK(cuMemsetD32Async(w->managed, 1, COUNT, w->a));
    OK(cuCtxSynchronize());
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_UNSET_READ_MOSTLY);
}

static void advice_for_other_pages(struct world *w)
{
    OK(cuMemsetD8Async(w->managed + 8192, 1, 4096, w->a));
    advise(w->managed + 4096, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY);
    advise(w->managed + 12288, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY);
}

/* Where pages are preferred and who maps them changes no copy. */
static void advice_on_places(struct world *w)
{
    copy_words(w, w->managed, w->x, w->a);
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY);
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION);
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_UNSET_ACCESSED_BY);
}

int main(int argc, char **argv)
{
#define SAMPLE(name)                                                                                         \
    {                                                                                                        \
#name, NULL, name                                                                                    \
    }
    static const struct sample samples[] = {
        SAMPLE(event),
        SAMPLE(event_chain),
        SAMPLE(legacy),
        SAMPLE(destroyed_stream),
        SAMPLE(stream_wait),
        SAMPLE(event_wait),
        SAMPLE(context_wait),
        SAMPLE(event_query),
        SAMPLE(stream_query),
        SAMPLE(synchronous_copy),
        SAMPLE(synchronous_free),
        SAMPLE(freed_in_stream_order),
        SAMPLE(heap),
        SAMPLE(discarded_flag),
        SAMPLE(other_thread),
        SAMPLE(host_function),
        SAMPLE(atomics),
        SAMPLE(flags),
        SAMPLE(reads_of_a_flag),
        SAMPLE(reads),
        SAMPLE(interleaved),
        SAMPLE(rows),
        SAMPLE(next_to_each_other),
        SAMPLE(prefetch_beside_use),
        SAMPLE(reuse_same_stream),
        SAMPLE(reuse_behind_event),
        SAMPLE(reuse_behind_wait),
        SAMPLE(freed_behind_use),
        SAMPLE(allocated_behind_wait),
        SAMPLE(discard_write_read),
        SAMPLE(discard_behind_read),
        SAMPLE(discarded_scratch),
        SAMPLE(discarded_twice),
        SAMPLE(graph_edges),
        SAMPLE(graph_on_two_streams),
        SAMPLE(graph_memory),
        SAMPLE(advice_behind_waits),
        SAMPLE(advice_for_other_pages),
        SAMPLE(advice_on_places),
    };
    return run_samples(samples, sizeof samples / sizeof *samples, argc, argv);
}
