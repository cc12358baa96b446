// Breaks if a kernel's printf loses lines or arguments, or if cooperative groups do not reduce within their
// tiles.
#include "check.h"

#include <cooperative_groups.h>
#include <cstring>
#include <unistd.h>

namespace cg = cooperative_groups;

__global__ void tiles(int *sums)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int sum = block.thread_rank();
    for (int step = 4; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
    if (tile.thread_rank() != 0) return;
    const int index = block.thread_rank() / 8;
    sums[index] = sum;
    printf("tile %d: %5.1f %s %llu%%\n", index, sum * 0.5, index % 2 ? "odd" : "even", 10000000000ull + sum);
}

int main()
{
    char path[] = "/tmp/cudart-prints-XXXXXX";
    const int file = mkstemp(path);
    CHECK(file >= 0);
    unlink(path);
    fflush(stdout);
    CHECK(dup2(file, STDOUT_FILENO) >= 0);

    int *sums;
    CUDA(cudaMallocManaged(&sums, 4 * sizeof(int)));
    tiles<<<1, 32>>>(sums);
    CUDA(cudaDeviceSynchronize());
    fflush(stdout);
    char text[4096] = "";
    const ssize_t bytes = pread(file, text, sizeof text - 1, 0);
    CHECK(bytes > 0);
    for (int i = 0; i < 4; i++) {
        const int sum = 8 * 8 * i + 28;
        CHECK(sums[i] == sum);
        char line[100];
        snprintf(line, sizeof line, "tile %d: %5.1f %s %llu%%\n", i, sum * 0.5, i % 2 ? "odd" : "even",
                 10000000000ull + sum);
        CHECK(std::strstr(text, line) != nullptr);
    }
    CUDA(cudaFree(sums));
    return 0;
}
