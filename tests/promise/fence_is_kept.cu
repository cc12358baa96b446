/* A discard waits for the stream that still reads, however many launches of another stream came after that
 * reader.
 *
 * usage: fence_is_kept [ITERATIONS]
 *
 * Buffers are written, read and freed in two streams that take turns, 64 buffers each: two ticks that are 64
 * apart belong to different streams. A third stream uses memory that takes the place of what was freed. */
#include "promise.cuh"

enum { BUFFERS = 192, TURN = 64, ROUNDS = 1000 };
static const size_t bytes = 2 << 20;

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 12;
    unsigned *buffers[BUFFERS], *others[BUFFERS];
    watch();
    cudaStream_t users[2] = {new_stream(), new_stream()}, third = new_stream();
    unsigned *wrong = new_counter();
    for (unsigned i = 0; i < BUFFERS; i++) {
        must(cudaMalloc(&others[i], bytes));
        fill_in(third, others[i], bytes, 7777 * i, 0);
    }
    must(cudaDeviceSynchronize());
    for (int k = 0; k < iterations; k++) {
        unsigned pattern = (unsigned)k * 1000003u;
        for (unsigned i = 0; i < BUFFERS; i++) {
            cudaStream_t user = users[i / TURN % 2];
            must(cudaMallocAsync(&buffers[i], bytes, user));
            fill_in(user, buffers[i], bytes, pattern + i * 5000, ROUNDS);
        }
        for (unsigned i = 0; i < BUFFERS; i++) {
            cudaStream_t user = users[i / TURN % 2];
            check_in(user, buffers[i], bytes, pattern + i * 5000, ROUNDS, wrong);
            must(cudaFreeAsync(buffers[i], user));
        }
        for (unsigned i = 0; i < BUFFERS; i++) check_in(third, others[i], bytes, 7777 * i, 0, wrong);
        must(cudaDeviceSynchronize());
    }
    return report(wrong);
}
