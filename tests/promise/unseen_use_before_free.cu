/* A free is behind every use that the program put in front of it, also behind one that nobody saw: the kernel
 * knows the memory only from a table of pointers that another kernel wrote.
 *
 * usage: unseen_use_before_free [ITERATIONS]
 *
 * Each buffer is allocated, written and freed in one of eight streams and read in a ninth, with events in
 * between. */
#include "promise.cuh"

enum { BUFFERS = 48, OWNERS = 8, ROUNDS = 1000 };
static const size_t bytes = 2 << 20;

static __global__ void note(unsigned **table, unsigned i, unsigned *address)
{
    table[i] = address;
}

static __global__ void check_noted(unsigned *const *table, unsigned i, size_t bytes, unsigned pattern,
                                   unsigned rounds, unsigned *wrong)
{
    work(rounds);
    if (table[i][place(bytes)] != pattern + (unsigned)place(bytes)) atomicAdd(wrong, 1u);
}

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 8;
    unsigned *buffers[BUFFERS], *others[BUFFERS], **table;
    cudaStream_t owners[OWNERS];
    watch();
    for (cudaStream_t &owner : owners) owner = new_stream();
    cudaStream_t reader = new_stream(), third = new_stream();
    cudaEvent_t event = new_event();
    unsigned *wrong = new_counter();
    must(cudaMalloc(&table, sizeof buffers));
    for (unsigned i = 0; i < BUFFERS; i++) {
        must(cudaMalloc(&others[i], bytes));
        fill_in(third, others[i], bytes, 7777 * i, 0);
    }
    must(cudaDeviceSynchronize());
    for (int k = 0; k < iterations; k++) {
        unsigned pattern = (unsigned)k * 1000003u;
        for (unsigned i = 0; i < BUFFERS; i++) {
            cudaStream_t owner = owners[i % OWNERS];
            must(cudaMallocAsync(&buffers[i], bytes, owner));
            fill_in(owner, buffers[i], bytes, pattern + i * 5000, ROUNDS);
            note<<<1, 1, 0, owner>>>(table, i, buffers[i]);
        }
        for (unsigned i = 0; i < BUFFERS; i++) {
            order(owners[i % OWNERS], reader, event);
            check_noted<<<BLOCKS, THREADS, 0, reader>>>(table, i, bytes, pattern + i * 5000, ROUNDS, wrong);
            order(reader, owners[i % OWNERS], event);
            must(cudaFreeAsync(buffers[i], owners[i % OWNERS]));
        }
        for (unsigned i = 0; i < BUFFERS; i++) check_in(third, others[i], bytes, 7777 * i, 0, wrong);
        must(cudaDeviceSynchronize());
    }
    return report(wrong);
}
