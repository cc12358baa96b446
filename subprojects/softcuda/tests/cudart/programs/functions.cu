// Breaks if calls through pointers, virtual functions, recursion, alloca or a kernel's own heap go wrong, or if a
// failed assertion or a wrong pointer is not told as the documented error.
#include "check.h"

#include <cassert>
#include <cstdlib>
#include <cstring>

#define THREADS 200

typedef int (*operation)(int, float);

__device__ __noinline__ int plus(int a, float b)
{
    return a + int(b);
}
__device__ __noinline__ int times(int a, float b)
{
    return a * int(b);
}
__device__ operation table[2] = {plus, times};
__constant__ operation reversed[2] = {times, plus};

struct shape {
    int size;
    __device__ shape(int s) : size(s) {}
    __device__ virtual int area() const = 0;
};
struct square : shape {
    __device__ square(int s) : shape(s) {}
    __device__ int area() const override { return size * size; }
};
struct strip : shape {
    __device__ strip(int s) : shape(s) {}
    __device__ int area() const override { return 3 * size; }
};

struct large {
    int number[10];
    double more;
};
__device__ __noinline__ large change(large x, int at)
{
    x.number[at]++;
    x.more *= 2;
    return x;
}

__device__ __noinline__ int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ int odd(int n);
__device__ __noinline__ int even(int n)
{
    return n == 0 ? 1 : odd(n - 1);
}
__device__ __noinline__ int odd(int n)
{
    return n == 0 ? 0 : even(n - 1);
}

__device__ void sort(int *a, int left, int right)
{
    if (left >= right) return;
    int pivot = a[right], i = left;
    for (int k = left; k < right; k++)
        if (a[k] < pivot) {
            int t = a[i];
            a[i++] = a[k];
            a[k] = t;
        }
    a[right] = a[i];
    a[i] = pivot;
    sort(a, left, i - 1);
    sort(a, i + 1, right);
}

__global__ void calls(int *out, const operation *given)
{
    const int i = threadIdx.x;
    large x;
    for (int k = 0; k < 10; k++) x.number[k] = k;
    x.more = i;
    x = change(x, i % 10);
    square a(i);
    strip b(i);
    const shape *s = i % 3 ? static_cast<const shape *>(&a) : &b;
    out[i] = table[i & 1](i, 2) + 10 * reversed[i & 1](i, 3) + 100 * given[i >> 1 & 1](i, 4) + x.number[i % 10] +
             int(x.more) + s->area() + fibonacci(i % 12) + even(i);
}

__global__ void addresses(operation *out)
{
    out[0] = times;
    out[1] = plus;
}

__global__ void heaps(int **lists, int n)
{
    int *list = static_cast<int *>(malloc(n * sizeof(int)));
    int *twice = new int[n];
    for (int i = 0; list && i < n; i++) list[i] = (i * 7919 + threadIdx.x * 13) % 101;
    if (list) sort(list, 0, n - 1);
    char *stack = static_cast<char *>(alloca(n));
    for (int i = 0; i < n; i++) stack[i] = char(list[i]);
    for (int i = 0; i < n; i++) twice[i] = 2 * stack[i];
    for (int i = 0; i < n; i++) list[i] = twice[i];
    delete[] twice;
    lists[threadIdx.x] = list;
}
__global__ void release(int **lists, int *sums, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) sum += (i + 1) * lists[threadIdx.x][i];
    free(lists[threadIdx.x]);
    sums[threadIdx.x] = sum;
}

__global__ void asserts(int n)
{
    assert(threadIdx.x < n);
}

static int host_fibonacci(int n)
{
    return n < 2 ? n : host_fibonacci(n - 1) + host_fibonacci(n - 2);
}

static void check_calls()
{
    int *out;
    operation *given;
    CUDA(cudaMallocManaged(&out, THREADS * sizeof(int)));
    CUDA(cudaMalloc(&given, 2 * sizeof *given));
    addresses<<<1, 1>>>(given);
    calls<<<1, THREADS>>>(out, given);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < THREADS; i++) {
        const int expected = (i & 1 ? i * 2 : i + 2) + 10 * (i & 1 ? i + 3 : i * 3) +
                             100 * (i >> 1 & 1 ? i + 4 : i * 4) + i % 10 + 1 + 2 * i + (i % 3 ? i * i : 3 * i) +
                             host_fibonacci(i % 12) + (i % 2 == 0);
        CHECK(out[i] == expected);
    }
    CUDA(cudaFree(out));
    CUDA(cudaFree(given));
}

static void check_heap()
{
    const int n = 100, threads = 64;
    int **lists, *sums;
    CUDA(cudaMalloc(&lists, threads * sizeof *lists));
    CUDA(cudaMallocManaged(&sums, threads * sizeof *sums));
    for (int round = 0; round < 3; round++) {
        heaps<<<1, threads>>>(lists, n);
        release<<<1, threads>>>(lists, sums, n);
        CUDA(cudaDeviceSynchronize());
        for (int t = 0; t < threads; t++) {
            int count[101] = {0}, sum = 0, at = 0;
            for (int i = 0; i < n; i++) count[(i * 7919 + t * 13) % 101]++;
            for (int x = 0; x < 101; x++)
                for (; count[x] > 0; count[x]--) sum += ++at * 2 * x;
            CHECK(sums[t] == sum);
        }
    }
    CUDA(cudaFree(lists));
    CUDA(cudaFree(sums));
}

int main()
{
    size_t stack;
    CUDA(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 32 << 10));
    check_calls();
    check_heap();
    asserts<<<1, 64>>>(64);
    CUDA(cudaDeviceSynchronize());
    asserts<<<1, 64>>>(63);
    CHECK(cudaDeviceSynchronize() == cudaErrorAssert);
    CHECK(cudaGetLastError() == cudaErrorAssert);
    CHECK(cudaDeviceSynchronize() == cudaErrorAssert); /* for ever */
    return 0;
}
