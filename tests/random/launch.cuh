/* The ways of launching a kernel: <<<>>>, cuLaunchKernel with an array of pointers or a packed buffer,
 * cuLaunchKernelEx. */
#ifndef RANDOM_LAUNCH_CUH
#define RANDOM_LAUNCH_CUH

#include <tuple>

#include "world.cuh"

enum LaunchForm { TRIPLE, POINTERS, PACKED, EXTENDED, LAUNCH_FORMS };

struct Packer {
    alignas(16) char bytes[256];
    size_t used;

    template <typename T> void add(const T &value)
    {
        used = (used + alignof(T) - 1) / alignof(T) * alignof(T);
        memcpy(bytes + used, &value, sizeof value);
        used += sizeof value;
    }
};

/* Launches `kernel` over some blocks in stream `s`, in a form by chance. */
template <typename... Parameters, typename... Arguments>
void launch(World *w, int s, void (*kernel)(Parameters...), Arguments... arguments)
{
    const unsigned blocks = 1 + (unsigned)below(w, 24), threads = 32u << below(w, 4);
    std::tuple<Parameters...> values(arguments...);
    int form = (int)below(w, LAUNCH_FORMS);
    if (form == TRIPLE) {
        kernel<<<blocks, threads, 0, w->streams[s]>>>((Parameters)arguments...);
        must(cudaGetLastError());
        return;
    }
    cudaFunction_t function;
    must(cudaGetFuncBySymbol(&function, (const void *)kernel));
    std::apply(
        [&](auto &...each) {
            void *pointers[] = {(void *)&each...};
            if (form == POINTERS) {
                must(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, w->streams[s], pointers, NULL));
            } else if (form == EXTENDED) {
                CUlaunchConfig config = {};
                config.gridDimX = blocks;
                config.blockDimX = threads;
                config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
                config.hStream = w->streams[s];
                must(cuLaunchKernelEx(&config, function, pointers, NULL));
            } else {
                Packer packer = {};
                (packer.add(each), ...);
                void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packer.bytes, CU_LAUNCH_PARAM_BUFFER_SIZE,
                                 &packer.used, CU_LAUNCH_PARAM_END};
                must(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, w->streams[s], NULL, extra));
            }
        },
        values);
}

#endif
