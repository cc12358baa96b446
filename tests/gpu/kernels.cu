// The probe's kernels: work of a known size on memory whose place is the question.
#include <cstdint>

constexpr int TILE = 16;

// Keeps one lane busy for a time that grows with `count` and touches no memory but `out`.
extern "C" __global__ void spin(float *out, uint64_t count)
{
    float x = 1.0f;
    for (uint64_t i = 0; i < count; i++) x = x * 0.999f + 0.5f;
    if (x == 0.0f) *out = x;
}

extern "C" __global__ void nothing() {}

// Reads all of `data` once. The store never happens, but the compiler cannot know.
extern "C" __global__ void read_all(const float4 *data, uint64_t count, float *out)
{
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    float sum = 0.0f;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        const float4 v = data[i];
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == 1.2345e30f) *out = sum;
}

extern "C" __global__ void write_all(float4 *data, uint64_t count, float value)
{
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        data[i] = make_float4(value, value, value, value);
}

extern "C" __global__ void copy_all(float4 *to, const float4 *from, uint64_t count)
{
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) to[i] = from[i];
}

extern "C" __global__ void fill(unsigned *data, uint64_t count, unsigned value)
{
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) data[i] = value;
}

// Adds up in *others how many words of `data` are not `value`.
extern "C" __global__ void count_others(const unsigned *data, uint64_t count, unsigned value,
                                        unsigned long long *others)
{
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    unsigned long long found = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        found += data[i] != value;
    if (found) atomicAdd(others, found);
}

// Needs local memory, which the driver sets aside for all threads of the device when such a kernel is first used.
extern "C" __global__ void deep(float *out, int depth)
{
    volatile float stack[512];
    for (int i = 0; i < depth; i++) stack[i & 511] = (float)(i ^ threadIdx.x);
    if (depth > 0) *out = stack[(depth * 7) & 511];
}

// c = a b for square matrices whose width is a multiple of TILE; a block of TILE x TILE threads for each tile
// of c.
extern "C" __global__ void product(const float *a, const float *b, float *c, int width)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < width; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[(size_t)row * width + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(size_t)(k + threadIdx.y) * width + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[(size_t)row * width + column] = sum;
}
