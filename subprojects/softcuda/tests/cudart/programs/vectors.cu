// Breaks if kernels, templates, arguments of several sizes or plain copies do not work.
#include "check.h"

#include <vector>

struct Affine {
    char pad;
    double scale;
    float shift;
};

__global__ void add(const float *a, const float *b, float *out, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = a[i] + b[i];
}

template <typename T> __global__ void iota(T *out, size_t count, T step)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        out[i] = (T)i * step;
}

__global__ void affine(float *data, short count, Affine by, bool negate)
{
    const int i = threadIdx.x;
    if (i < count) data[i] = (negate ? -1.0f : 1.0f) * (float)(data[i] * by.scale + by.shift);
}

__global__ void three_dimensional(unsigned *out)
{
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] = block * 1000 + thread;
}

__global__ void nothing() {}

int main()
{
    const int count = 100003;
    std::vector<float> a(count), b(count), sum(count);
    for (int i = 0; i < count; i++) a[i] = i * 0.5f, b[i] = 1.0f / (i + 1);
    float *da, *db, *dsum;
    CUDA(cudaMalloc(&da, count * sizeof(float)));
    CUDA(cudaMalloc(&db, count * sizeof(float)));
    CUDA(cudaMalloc(&dsum, count * sizeof(float)));
    CUDA(cudaMemcpy(da, a.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(db, b.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    add<<<(count + 255) / 256, 256>>>(da, db, dsum, count);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(sum.data(), dsum, count * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) CHECK(sum[i] == a[i] + b[i]);

    std::vector<int> numbers(count);
    iota<int><<<7, 96>>>((int *)da, count, 3);
    CUDA(cudaMemcpy(numbers.data(), da, count * sizeof(int), cudaMemcpyDefault));
    for (int i = 0; i < count; i++) CHECK(numbers[i] == 3 * i);

    iota<float><<<1, 32>>>(db, 100, 1.0f);
    affine<<<1, 128>>>(db, 100, Affine{0, 2.0, 0.5f}, true);
    CUDA(cudaMemcpy(sum.data(), db, 100 * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 100; i++) CHECK(sum[i] == -(2.0f * i + 0.5f));

    three_dimensional<<<dim3(2, 3, 4), dim3(5, 6, 7)>>>((unsigned *)dsum);
    std::vector<unsigned> ids(24 * 210);
    CUDA(cudaMemcpy(ids.data(), dsum, ids.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < ids.size(); i++) CHECK(ids[i] == i / 210 * 1000 + i % 210);

    nothing<<<1, 1>>>();
    CUDA(cudaMemcpy(da, db, 400, cudaMemcpyDeviceToDevice));
    CUDA(cudaMemcpy(a.data(), da, 400, cudaMemcpyDeviceToHost));
    CHECK(a[99] == sum[99]);
    CUDA(cudaMemcpy(b.data(), a.data(), 400, cudaMemcpyHostToHost));
    CHECK(b[99] == sum[99]);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaFree(da));
    CUDA(cudaFree(db));
    CUDA(cudaFree(dsum));
    return 0;
}
