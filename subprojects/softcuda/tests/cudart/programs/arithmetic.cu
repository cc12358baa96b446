// Breaks if the mathematical functions that training uses are further from the truth than the language
// allows, or if local arrays, struct copies or device functions that are not inlined go wrong.
#include "check.h"

#include <cmath>
#include <vector>

struct Row {
    double exponential, logarithm, sine, root, tangent, error;
    float fast_exponential, reciprocal_root;
};

__device__ __noinline__ float polynomial(const float *coefficients, int count, float x)
{
    float value = 0;
    for (int i = count - 1; i >= 0; i--) value = value * x + coefficients[i];
    return value;
}

__global__ void evaluate(Row *rows, float *values, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float x = 0.015625f + i * 0.03125f; // exact, fused or not
    Row row;
    row.exponential = exp((double)-x);
    row.logarithm = logf(x);
    row.sine = sinf(x);
    row.root = sqrtf(x);
    row.tangent = tanhf(x - 2);
    row.error = erff(x - 2);
    row.fast_exponential = __expf(-x);
    row.reciprocal_root = rsqrtf(x);
    rows[i] = row;
    float coefficients[5];
    for (int k = 0; k < 5; k++) coefficients[k] = (i * 7 + k) % 5;
    values[i] = polynomial(coefficients, 1 + i % 5, 2.0f);
}

static bool near(double got, double expected, double relative)
{
    return std::fabs(got - expected) <= relative * std::fabs(expected) + 1e-9;
}

int main()
{
    const int count = 500;
    Row *rows;
    float *values;
    CUDA(cudaMallocManaged(&rows, count * sizeof(Row)));
    CUDA(cudaMallocManaged(&values, count * sizeof(float)));
    evaluate<<<(count + 63) / 64, 64>>>(rows, values, count);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) {
        const float x = 0.015625f + i * 0.03125f; // exact, fused or not
        CHECK(near(rows[i].exponential, std::exp((double)-x), 1e-15));
        CHECK(near(rows[i].logarithm, std::log((double)x), 3e-7));
        CHECK(std::fabs(rows[i].sine - std::sin((double)x)) < 3e-7);
        CHECK(rows[i].root == std::sqrt(x));
        CHECK(near(rows[i].tangent, std::tanh((double)(x - 2)), 5e-7));
        CHECK(near(rows[i].error, std::erf((double)(x - 2)), 5e-7));
        CHECK(near(rows[i].fast_exponential, std::exp((double)-x), 1e-5));
        CHECK(near(rows[i].reciprocal_root, 1 / std::sqrt((double)x), 5e-7));
        float expected = 0;
        for (int k = i % 5; k >= 0; k--) expected = expected * 2 + (i * 7 + k) % 5;
        CHECK(values[i] == expected);
    }
    CUDA(cudaFree(rows));
    CUDA(cudaFree(values));
    return 0;
}
