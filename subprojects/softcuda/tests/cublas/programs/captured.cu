// Products in a graph that was captured. Breaks if a captured product runs at once, or if a later run of the
// graph does not see what its operands are by then.
#include "blas.h"

int main()
{
    const int n = 40;
    const float one = 1, zero = 0;
    Array<float> a(n * n), b(n * n), c(n * n), d(n * n);
    a.fill(1);
    b.fill(2);
    d.fill(-1);
    cublasHandle_t handle;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    BLAS(cublasCreate(&handle));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    BLAS(cublasSetStream(handle, stream));
    // What a library allocates when it is first used must not happen during the capture.
    BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.device, n, b.device, n, &zero,
                     c.device, n));
    CUDA(cudaStreamSynchronize(stream));
    c.fill(0);
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.device, n, b.device, n, &zero,
                     c.device, n));
    BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, c.device, n, b.device, n, &zero,
                     d.device, n));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (float x : d.down()) CHECK(x == -1);
    for (int round = 1; round <= 3; round++) {
        a.fill(round);
        CUDA(cudaGraphLaunch(executable, stream));
        CUDA(cudaStreamSynchronize(stream));
        for (float x : d.down()) CHECK(x == round * 2.f * n * 2 * n);
    }
    CUDA(cudaGraphExecDestroy(executable));
    CUDA(cudaGraphDestroy(graph));
    BLAS(cublasDestroy(handle));
    CUDA(cudaStreamDestroy(stream));
    return 0;
}
