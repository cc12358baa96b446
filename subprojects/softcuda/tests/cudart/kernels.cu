// The kernels whose fat binaries the reader's test takes apart.
__constant__ float scale[4];

extern "C" __global__ void first(float *out, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = scale[i & 3] * i;
}

extern "C" __global__ void second(float *out)
{
    out[threadIdx.x] += 1.0f;
}
