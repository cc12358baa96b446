/* A thread whose launch waits for room in the driver's queue holds up no thread that queues nothing. Its
 * streams are held up by a function on the host, which waits for what the other thread does: were it held up,
 * nobody would go on.
 *
 * usage: full_queue_holds_nobody LAUNCHES
 *
 * LAUNCHES: more than the driver queues. */
#include <atomic>
#include <thread>

#include "promise.cuh"

enum { ALIKE = 200 };
static std::atomic<bool> seen;
static std::atomic<int> launched;

static void wait_until_seen(void *)
{
    while (!seen) usleep(1000);
}

static void fill_queue(const cudaStream_t *streams, int launches)
{
    must(cudaSetDevice(0));
    must(cudaLaunchHostFunc(streams[0], wait_until_seen, NULL));
    for (int i = 0; i < launches; i++) {
        unsigned *memory;
        cudaStream_t stream = streams[i % 2];
        must(cudaMallocAsync(&memory, (4 << 20) + (size_t)i * 4096, stream));
        fill_in(stream, memory, 4 << 20, 5, 0);
        must(cudaFreeAsync(memory, stream));
        launched++;
    }
}

/* Asks until the other thread has not come further for a while: it is through, or it waits. */
static void ask_while_it_launches(int launches)
{
    size_t available, total;
    for (int last = -1, alike = 0; alike < ALIKE && launched < launches; alike++) {
        must(cudaMemGetInfo(&available, &total));
        usleep(1000);
        if (launched != last) alike = 0;
        last = launched;
    }
}

int main(int argc, char **argv)
{
    int launches = argc > 1 ? atoi(argv[1]) : 20;
    watch();
    cudaStream_t streams[2] = {new_stream(), new_stream()};
    unsigned *wrong = new_counter();
    std::thread filler(fill_queue, streams, launches);
    ask_while_it_launches(launches);
    seen = true;
    filler.join();
    return report(wrong);
}
