/* Kernels that get at memory in every way that there is: pointers in structs by value, in tables in device
 * memory, in structs that point to tables, in module variables and constants, made on the device, and from a
 * base and an offset. Each way has a kernel of its own, so that truth.py tells them apart. The program knows
 * nothing of sluice. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef WITH_CUBLAS
#include <cublas_v2.h>
#endif

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const auto status = (call);                                                                          \
        if (status) {                                                                                        \
            fprintf(stderr, "%s:%d: %s is %d\n", __FILE__, __LINE__, #call, (int)status);                    \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

enum { ROWS = 8, SIDE = 1024, FLOATS = SIDE * SIDE, ROUNDS = 8, BLOCK = 256, GRID = FLOATS / BLOCK };

struct Four {
    int count;
    const float *in[4];
    float *out;
};

struct Node {
    float weight;
    float *const *rows;
    float *out;
};

__device__ float *device_row;
__constant__ float *constant_rows[2];

__device__ int index_of()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__global__ void struct_by_value(Four four)
{
    float sum = 0;
    for (int i = 0; i < four.count; i++) sum += four.in[i][index_of()];
    four.out[index_of()] = sum;
}

__global__ void table_in_memory(float *const *rows, int count)
{
    for (int i = 0; i < count; i++) rows[i][index_of()] += 1;
}

__global__ void table_in_struct(const Node *node)
{
    node->out[index_of()] = node->weight * node->rows[0][index_of()] + node->rows[1][index_of()];
}

__global__ void table_that_changes(float *const *rows)
{
    rows[0][index_of()] *= 2;
}

__global__ void device_variable()
{
    device_row[index_of()] += 1;
}

__global__ void constant_variable()
{
    constant_rows[1][index_of()] = constant_rows[0][index_of()];
}

__global__ void base_and_offset(float *base, size_t offset)
{
    base[offset + index_of()] = 1;
}

__global__ void make_table(float **table, float *base, size_t step)
{
    table[threadIdx.x] = base + threadIdx.x * step;
}

__global__ void table_made_on_device(float *const *rows)
{
    rows[2][index_of()] += 1;
}

static float *row()
{
    float *memory;
    CHECK(cudaMalloc(&memory, FLOATS * sizeof(float)));
    CHECK(cudaMemset(memory, 0, FLOATS * sizeof(float)));
    return memory;
}

template <typename T> static T *on_device(const T *host, int count)
{
    T *memory;
    CHECK(cudaMalloc(&memory, count * sizeof(T)));
    CHECK(cudaMemcpy(memory, host, count * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

int main()
{
    float *rows[ROWS], *slab, **made;
    for (int i = 0; i < ROWS; i++) rows[i] = row();
    CHECK(cudaMalloc(&slab, 4 * FLOATS * sizeof(float)));
    CHECK(cudaMalloc(&made, 4 * sizeof(float *)));
    float **table = on_device(rows, 4), **pair = on_device(rows + 4, 2), **changing = on_device(rows, 1);
    const Node host_node = {0.5f, pair, rows[6]};
    const Node *node = on_device(&host_node, 1);
    CHECK(cudaMemcpyToSymbol(device_row, &rows[7], sizeof rows[7]));
    CHECK(cudaMemcpyToSymbol(constant_rows, &rows[2], 2 * sizeof rows[2]));
#ifdef WITH_CUBLAS
    const float one = 1, zero = 0;
    cublasHandle_t blas;
    CHECK(cublasCreate(&blas));
#endif
    for (int round = 0; round < ROUNDS; round++) {
        const Four four = {4, {rows[0], rows[1], rows[2], rows[3]}, rows[4]};
        struct_by_value<<<GRID, BLOCK>>>(four);
        CHECK(cudaMemcpy(table, rows, 4 * sizeof rows[0], cudaMemcpyHostToDevice));
        table_in_memory<<<GRID, BLOCK>>>(table, 4);
        table_in_struct<<<GRID, BLOCK>>>(node);
        CHECK(cudaMemcpyAsync(changing, &rows[round % 2], sizeof rows[0], cudaMemcpyHostToDevice));
        table_that_changes<<<GRID, BLOCK>>>(changing);
        device_variable<<<GRID, BLOCK>>>();
        constant_variable<<<GRID, BLOCK>>>();
        base_and_offset<<<GRID, BLOCK>>>(slab, 2 * (size_t)FLOATS);
        make_table<<<1, 4>>>(made, slab, FLOATS);
        table_made_on_device<<<GRID, BLOCK>>>(made);
#ifdef WITH_CUBLAS
        CHECK(cublasSgemmBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, SIDE, &one, table, SIDE, table + 1,
                                 SIDE, &zero, pair, 64, 2));
#endif
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaGetLastError());
    return 0;
}
