/* Programs with one mistake each. Each says what must be reported about it, under every schedule. */
#include "world.h"

#define ORDER(use, earlier) "nothing puts this " use " and an earlier submitted " earlier " in order"
#define GARBAGE "a read of bytes that were discarded, and that nobody has written since"
#define ADVICE(earlier) "this advice does not wait for an earlier submitted " earlier
#define AFTER_FREE(use) "use after free: this " use " comes after the free"

static void write_write(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuMemsetD32Async(w->x, 2, COUNT, w->b));
}

static void write_read(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    copy_words(w, w->y, w->x, w->b);
}

static void read_write(struct world *w)
{
    copy_words(w, w->y, w->x, w->a);
    OK(cuMemcpyDtoDAsync(w->x, w->z, BYTES, w->b));
}

static void one_byte(struct world *w)
{
    OK(cuMemsetD8Async(w->x, 1, 101, w->a));
    OK(cuMemsetD8Async(w->x + 100, 1, 100, w->b));
}

/* The rows of both boxes alternate, but for one byte. */
static void rows(struct world *w)
{
    OK(cuMemsetD2D8Async(w->x, 64, 1, 33, 16, w->a));
    OK(cuMemsetD2D8Async(w->x + 32, 64, 1, 32, 16, w->b));
}

static void event_too_early(struct world *w)
{
    OK(cuEventRecord(w->event, w->a));
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuStreamWaitEvent(w->b, w->event, 0));
    copy_words(w, w->y, w->x, w->b);
}

static void wrong_event(struct world *w)
{
    OK(cuMemsetD32Async(w->y, 1, COUNT, w->a));
    OK(cuEventRecord(w->event, w->a));
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuEventSynchronize(w->event));
    OK(cuMemcpyDtoDAsync(w->z, w->x, BYTES, w->b));
}

/* The event's second record is the one that counts for later waits only. */
static void event_again(struct world *w)
{
    OK(cuEventRecord(w->event, w->b));
    OK(cuStreamWaitEvent(w->a, w->event, 0));
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->b));
    OK(cuEventRecord(w->event, w->b));
    copy_words(w, w->y, w->x, w->a);
}

static void legacy_and_non_blocking(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuMemsetD32Async(w->x, 2, COUNT, NULL));
}

static void blocking_streams(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->blocking));
    OK(cuMemsetD32Async(w->x, 2, COUNT, w->blocking2));
}

static void atomic_and_read(struct world *w)
{
    count_up(w, w->x, w->a);
    copy_words(w, w->y, w->x, w->b);
}

static void atomic_and_write(struct world *w)
{
    count_up(w, w->x, w->a);
    OK(cuMemsetD32Async(w->x, 1, 1, w->b));
}

static void pinned(struct world *w)
{
    OK(cuMemcpyDtoHAsync(w->pinned, w->x, BYTES, w->a));
    OK(cuMemcpyDtoHAsync(w->pinned, w->y, BYTES, w->b));
}

/* That somebody has read since does not hide the write from a later reader. */
static void second_reader(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    let_wait(w, w->a, w->b);
    copy_words(w, w->y, w->x, w->b);
    copy_words(w, w->z, w->x, w->blocking);
}

/* Nor does a later reader hide an earlier one from the next writer. */
static void first_reader(struct world *w)
{
    copy_words(w, w->y, w->x, w->a);
    copy_words(w, w->z, w->x, w->b);
    let_wait(w, w->b, w->blocking);
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->blocking));
}

/* Both streams wait for the same event; that gives them no order among each other. */
static void siblings(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->blocking));
    let_wait(w, w->blocking, w->a);
    OK(cuStreamWaitEvent(w->b, w->event, 0));
    copy_words(w, w->x, w->y, w->a);
    copy_words(w, w->z, w->x, w->b);
}

static void free_unordered(struct world *w)
{
    CUdeviceptr memory = allocate(w->a);
    OK(cuMemsetD32Async(memory, 0, COUNT, w->a));
    let_wait(w, w->a, w->b);
    copy_words(w, w->y, memory, w->b);
    OK(cuMemFreeAsync(memory, w->a));
}

static void use_unordered_with_free(struct world *w)
{
    CUdeviceptr memory = allocate(w->a);
    OK(cuMemsetD32Async(memory, 0, COUNT, w->a));
    let_wait(w, w->a, w->b);
    OK(cuMemFreeAsync(memory, w->a));
    copy_words(w, w->y, memory, w->b);
}

static void use_after_free(struct world *w)
{
    CUdeviceptr memory = allocate(w->a);
    OK(cuMemsetD32Async(memory, 0, COUNT, w->a));
    OK(cuMemFreeAsync(memory, w->a));
    copy_words(w, w->y, memory, w->a);
}

static void use_before_allocation(struct world *w)
{
    CUdeviceptr memory = allocate(w->a);
    OK(cuMemsetD32Async(memory, 0, COUNT, w->b));
}

/* b still uses the old content when a, which gets the memory again, fills it: the free came too early. */
static void reuse(struct world *w)
{
    CUdeviceptr memory = allocate(w->a);
    OK(cuMemsetD32Async(memory, 0, COUNT, w->a));
    let_wait(w, w->a, w->b);
    copy_words(w, w->y, memory, w->b);
    OK(cuMemFreeAsync(memory, w->a));
    memory = allocate(w->a);
    OK(cuMemsetD32Async(memory, 1, COUNT, w->a));
}

static void discard_beside_read(struct world *w)
{
    copy_words(w, w->y, w->managed, w->a);
    discard(w, w->managed, w->b);
}

static void discard_beside_write(struct world *w)
{
    copy_words(w, w->managed, w->y, w->a);
    discard(w, w->managed, w->b);
}

static void write_beside_discard(struct world *w)
{
    discard(w, w->managed, w->a);
    copy_words(w, w->managed, w->y, w->b);
}

static void prefetch_beside_discard(struct world *w)
{
    prefetch(w, w->managed, CU_MEM_LOCATION_TYPE_DEVICE, w->a);
    discard(w, w->managed, w->b);
}

static void garbage(struct world *w)
{
    discard(w, w->managed, w->a);
    copy_words(w, w->y, w->managed, w->a);
}

static void garbage_brought_back(struct world *w)
{
    discard_and_prefetch(w, w->managed, w->a);
    OK(cuMemcpyDtoDAsync(w->y, w->managed, BYTES, w->a));
}

/* What a kernel reads before it writes it. */
static void garbage_in_place(struct world *w)
{
    discard(w, w->managed, w->a);
    copy_words(w, w->managed, w->managed, w->a);
}

static void garbage_counted(struct world *w)
{
    discard(w, w->managed, w->a);
    count_up(w, w->managed, w->a);
    OK(cuMemcpyDtoDAsync(w->y, w->managed, 4, w->a)); /* of what was made of it */
}

/* One byte too few is written. */
static void garbage_at_the_end(struct world *w)
{
    discard(w, w->managed, w->a);
    OK(cuMemsetD8Async(w->managed, 1, BYTES - 1, w->a));
    copy_words(w, w->y, w->managed, w->a);
}

static void launch_graph(CUgraph graph, CUstream stream)
{
    CUgraphExec exec;
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
}

static void branches(struct world *w)
{
    CUgraph graph;
    OK(cuStreamBeginCapture(w->a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    let_wait(w, w->a, w->b);
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    copy_words(w, w->y, w->x, w->b);
    let_wait(w, w->b, w->a);
    OK(cuStreamEndCapture(w->a, &graph));
    launch_graph(graph, w->a);
}

static void graph_beside_stream(struct world *w)
{
    CUgraph graph;
    OK(cuStreamBeginCapture(w->a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    copy_words(w, w->y, w->x, w->a);
    OK(cuStreamEndCapture(w->a, &graph));
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->b));
    launch_graph(graph, w->a);
}

/* The branch that does not free the memory uses it. */
static void graph_memory(struct world *w)
{
    CUgraph graph;
    OK(cuStreamBeginCapture(w->a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUdeviceptr memory = allocate(w->a);
    OK(cuMemsetD32Async(memory, 1, COUNT, w->a));
    let_wait(w, w->a, w->b);
    copy_words(w, w->y, memory, w->b);
    OK(cuMemFreeAsync(memory, w->a));
    let_wait(w, w->b, w->a);
    OK(cuStreamEndCapture(w->a, &graph));
    launch_graph(graph, w->a);
}

/* Waiting for one branch of what was queued is not waiting for the other. */
static void other_stream_waited(struct world *w)
{
    OK(cuMemsetD32Async(w->x, 1, COUNT, w->a));
    OK(cuMemsetD32Async(w->y, 1, COUNT, w->b));
    OK(cuStreamSynchronize(w->b));
    OK(cuMemcpyDtoDAsync(w->z, w->x, BYTES, w->b));
}

static void advice_beside_write(struct world *w)
{
    copy_words(w, w->managed, w->x, w->a);
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY);
}

static void advice_beside_read(struct world *w)
{
    copy_words(w, w->x, w->managed, w->a);
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_UNSET_READ_MOSTLY);
}

static void advice_beside_atomic(struct world *w)
{
    count_up(w, w->managed, w->a);
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_UNSET_READ_MOSTLY);
}

static void advice_beside_copy(struct world *w)
{
    OK(cuMemcpyDtoDAsync(w->x, w->managed, BYTES, w->a));
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY);
}

static void advice_beside_memset(struct world *w)
{
    OK(cuMemsetD32Async(w->managed, 1, COUNT, w->a));
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_UNSET_READ_MOSTLY);
}

/* The copy may then exist on both sides, or on one. */
static void advice_beside_prefetch(struct world *w)
{
    prefetch(w, w->managed, CU_MEM_LOCATION_TYPE_DEVICE, w->a);
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY);
}

static void advice_beside_discard(struct world *w)
{
    discard(w, w->managed, w->a);
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_UNSET_READ_MOSTLY);
}

/* That streams are in order among each other is nothing that the host waits for. */
static void advice_behind_event(struct world *w)
{
    OK(cuMemsetD8Async(w->managed, 1, MANAGED_BYTES, w->a));
    let_wait(w, w->a, w->b);
    prefetch(w, w->managed, CU_MEM_LOCATION_TYPE_DEVICE, w->b);
    OK(cuEventSynchronize(w->event));
    advise(w->managed, MANAGED_BYTES, CU_MEM_ADVISE_UNSET_READ_MOSTLY);
}

/* Advice is for whole pages. */
static void advice_on_the_last_page(struct world *w)
{
    OK(cuMemsetD8Async(w->managed + 8191, 1, 1, w->a));
    advise(w->managed + 4096, 100, CU_MEM_ADVISE_SET_READ_MOSTLY);
}

int main(int argc, char **argv)
{
    static const struct sample samples[] = {
        {"write_write", ORDER("write", "write"), write_write},
        {"write_read", ORDER("read", "write"), write_read},
        {"read_write", ORDER("write", "read"), read_write},
        {"one_byte", ORDER("write", "write"), one_byte},
        {"rows", ORDER("write", "write"), rows},
        {"event_too_early", ORDER("read", "write"), event_too_early},
        {"wrong_event", ORDER("read", "write"), wrong_event},
        {"event_again", ORDER("read", "write"), event_again},
        {"legacy_and_non_blocking", ORDER("write", "write"), legacy_and_non_blocking},
        {"blocking_streams", ORDER("write", "write"), blocking_streams},
        {"atomic_and_read", ORDER("read", "atomic access"), atomic_and_read},
        {"atomic_and_write", ORDER("write", "atomic access"), atomic_and_write},
        {"pinned", ORDER("write", "write"), pinned},
        {"second_reader", ORDER("read", "write"), second_reader},
        {"first_reader", ORDER("write", "read"), first_reader},
        {"siblings", ORDER("read", "write"), siblings},
        {"free_unordered", ORDER("free", "read"), free_unordered},
        {"use_unordered_with_free", ORDER("read", "free"), use_unordered_with_free},
        {"use_after_free", AFTER_FREE("read"), use_after_free},
        {"use_before_allocation", ORDER("write", "allocation"), use_before_allocation},
        {"reuse", ORDER("free", "read"), reuse},
        {"discard_beside_read", ORDER("discard", "read"), discard_beside_read},
        {"discard_beside_write", ORDER("discard", "write"), discard_beside_write},
        {"write_beside_discard", ORDER("write", "discard"), write_beside_discard},
        {"prefetch_beside_discard", ORDER("discard", "prefetch"), prefetch_beside_discard},
        {"garbage", GARBAGE, garbage},
        {"garbage_brought_back", GARBAGE, garbage_brought_back},
        {"garbage_in_place", GARBAGE, garbage_in_place},
        {"garbage_counted", GARBAGE, garbage_counted},
        {"garbage_at_the_end", GARBAGE, garbage_at_the_end},
        {"branches", ORDER("read", "write"), branches},
        {"graph_beside_stream", ORDER("read", "write"), graph_beside_stream},
        {"graph_memory", ORDER("free", "read"), graph_memory},
        {"other_stream_waited", ORDER("read", "write"), other_stream_waited},
        {"advice_beside_write", ADVICE("write"), advice_beside_write},
        {"advice_beside_read", ADVICE("read"), advice_beside_read},
        {"advice_beside_atomic", ADVICE("atomic access"), advice_beside_atomic},
        {"advice_beside_copy", ADVICE("read"), advice_beside_copy},
        {"advice_beside_memset", ADVICE("write"), advice_beside_memset},
        {"advice_beside_prefetch", ADVICE("prefetch"), advice_beside_prefetch},
        {"advice_beside_discard", ADVICE("discard"), advice_beside_discard},
        {"advice_behind_event", ADVICE("prefetch"), advice_behind_event},
        {"advice_on_the_last_page", ADVICE("write"), advice_on_the_last_page},
    };
    return run_samples(samples, sizeof samples / sizeof *samples, argc, argv);
}
