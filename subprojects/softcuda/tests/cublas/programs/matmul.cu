// cublasLtMatmul: orders, batches, and what is done to a finished product. Breaks if a bias runs along the
// wrong side, if what is kept for the backward pass is not what came before the activation, or if an
// attribute is not what was set.
#include <cublasLt.h>

#include "blas.h"

static cublasLtHandle_t handle;

// A product and its descriptions; C is D.
struct Product {
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;

    template <class T, class U>
    static Product of(const Shape &s, cublasComputeType_t compute, cudaDataType scale)
    {
        Product p;
        bool ta = s.ta != CUBLAS_OP_N, tb = s.tb != CUBLAS_OP_N;
        BLAS(cublasLtMatmulDescCreate(&p.desc, compute, scale));
        BLAS(cublasLtMatrixLayoutCreate(&p.a, type_of<T>(), ta ? s.k : s.m, ta ? s.m : s.k, s.lda));
        BLAS(cublasLtMatrixLayoutCreate(&p.b, type_of<T>(), tb ? s.n : s.k, tb ? s.k : s.n, s.ldb));
        BLAS(cublasLtMatrixLayoutCreate(&p.d, type_of<U>(), s.m, s.n, s.ldc));
        p.set(CUBLASLT_MATMUL_DESC_TRANSA, s.ta);
        p.set(CUBLASLT_MATMUL_DESC_TRANSB, s.tb);
        return p;
    }
    template <class V> void set(cublasLtMatmulDescAttributes_t attribute, V value)
    {
        BLAS(cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value));
    }
    template <class V> void every(cublasLtMatrixLayoutAttribute_t attribute, V value)
    {
        for (auto layout : {a, b, d})
            BLAS(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value));
    }
    cublasStatus_t find(cublasLtMatmulHeuristicResult_t *result, int *found)
    {
        cublasLtMatmulPreference_t preference;
        size_t workspace = 1 << 20;
        BLAS(cublasLtMatmulPreferenceCreate(&preference));
        BLAS(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &workspace, sizeof workspace));
        cublasStatus_t status =
            cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, d, d, preference, 1, result, found);
        BLAS(cublasLtMatmulPreferenceDestroy(preference));
        return status;
    }
    void run(const void *alpha, const void *at_a, const void *at_b, const void *beta, void *at_d)
    {
        cublasLtMatmulHeuristicResult_t result;
        int found = 0;
        void *workspace = nullptr;
        BLAS(find(&result, &found));
        CHECK(found == 1);
        CUDA(cudaMalloc(&workspace, 1 << 20));
        BLAS(cublasLtMatmul(handle, desc, alpha, at_a, a, at_b, b, beta, at_d, d, at_d, d, &result.algo,
                            workspace, 1 << 20, 0));
        CUDA(cudaDeviceSynchronize());
        CUDA(cudaFree(workspace));
    }
    void end()
    {
        for (auto layout : {a, b, d}) BLAS(cublasLtMatrixLayoutDestroy(layout));
        BLAS(cublasLtMatmulDescDestroy(desc));
    }
};

static double gelu(double x)
{
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x)
{
    double step = 1e-5;
    return (gelu(x + step) - gelu(x - step)) / (2 * step);
}

template <class T> static bool close_to(T got, double expected, double size = 1)
{
    return std::fabs(number(got) - expected) <= 1e-5 * size + 2 * rounding<T>() * std::fabs(expected);
}

// The sum alone, without its epilogue, rounded to nothing.
template <class T> static double sum_of(const Shape &s, const Array<T> &a, const Array<T> &b, int i, int j)
{
    double sum, size;
    product_of(s, a.host.data(), b.host.data(), i, j, &sum, &size);
    return sum;
}

template <class T> static void plain(cublasOperation_t ta, cublasOperation_t tb, float alpha, float beta)
{
    const Shape s = shape_of(ta, tb, 48, 40, 56, 8);
    Array<T> a(s.a_count(), 1), b(s.b_count(), 2), d(s.c_count(), 3);
    if (beta == 0) d.fill(std::numeric_limits<float>::quiet_NaN());
    Product p = Product::of<T, T>(s, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    p.run(&alpha, a.device, b.device, &beta, d.device);
    check_product<T, T, float>(s, a.host.data(), b.host.data(), d.host.data(), d.down().data(), alpha, beta);
    p.end();
}

static void double_precision_on_device()
{
    const Shape s = shape_of(CUBLAS_OP_T, CUBLAS_OP_N, 24, 16, 32, 0);
    Array<double> a(s.a_count(), 1), b(s.b_count(), 2), d(s.c_count(), 3), factors(2);
    factors.host = {2, -1};
    factors.up();
    Product p = Product::of<double, double>(s, CUBLAS_COMPUTE_64F, CUDA_R_64F);
    p.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, (int32_t)CUBLASLT_POINTER_MODE_DEVICE);
    p.run(factors.device, a.device, b.device, factors.device + 1, d.device);
    check_product<double, double, double>(s, a.host.data(), b.host.data(), d.host.data(), d.down().data(), 2,
                                          -1);
    p.end();
}

// All three in row order: what column order would call the transposed.
static void rows_first()
{
    const int m = 24, n = 40, k = 32;
    Array<float> a(m * k, 1), b(k * n, 2), d(m * n, 3), bias(m, 4);
    const Shape stored = {CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, n, k, n}; // D' = B' A'
    const float one = 1, zero = 0;
    Product p;
    BLAS(cublasLtMatmulDescCreate(&p.desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    BLAS(cublasLtMatrixLayoutCreate(&p.a, CUDA_R_32F, m, k, k));
    BLAS(cublasLtMatrixLayoutCreate(&p.b, CUDA_R_32F, k, n, n));
    BLAS(cublasLtMatrixLayoutCreate(&p.d, CUDA_R_32F, m, n, n));
    p.every(CUBLASLT_MATRIX_LAYOUT_ORDER, (int32_t)CUBLASLT_ORDER_ROW);
    p.run(&one, a.device, b.device, &zero, d.device);
    check_product<float, float, float>(stored, b.host.data(), a.host.data(), d.host.data(), d.down().data(),
                                       1, 0);
    // A bias still has an element for each row, where the device can do it.
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.device);
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    if (p.find(&result, &found) == CUBLAS_STATUS_SUCCESS && found) {
        auto without = d.down();
        p.run(&one, a.device, b.device, &zero, d.device);
        auto with = d.down();
        for (int i = 0; i < m * n; i++) CHECK(close_to(with[i], without[i] + bias.host[i / n], 4));
    }
    p.end();
}

static void batches()
{
    const int batch = 3;
    const Shape s = shape_of(CUBLAS_OP_T, CUBLAS_OP_N, 32, 24, 16, 0);
    Array<__half> a(s.a_count() * batch, 1), b(s.b_count() * batch, 2), d(s.c_count() * batch, 3);
    const float one = 1, zero = 0;
    Product p = Product::of<__half, __half>(s, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    p.every(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, (int32_t)batch);
    const int64_t steps[] = {s.a_count(), s.b_count(), s.c_count()};
    const cublasLtMatrixLayout_t layouts[] = {p.a, p.b, p.d};
    for (int i = 0; i < 3; i++)
        BLAS(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                              &steps[i], sizeof steps[i]));
    p.run(&one, a.device, b.device, &zero, d.device);
    auto got = d.down();
    for (int i = 0; i < batch; i++)
        check_product<__half, __half, float>(s, &a.host[i * steps[0]], &b.host[i * steps[1]],
                                             &d.host[i * steps[2]], &got[i * steps[2]], 1, 0);
    p.end();
}

template <class T>
static void activations(cublasLtEpilogue_t epilogue, bool with_bias, bool with_gelu, bool with_relu,
                        bool with_aux)
{
    const Shape s = shape_of(CUBLAS_OP_T, CUBLAS_OP_N, 528, 40, 24, 0); // more than one tile
    Array<T> a(s.a_count(), 1), b(s.b_count(), 2), d(s.c_count(), 3), bias(s.m, 4), kept(s.c_count(), 5);
    const float one = 1, zero = 0;
    Product p = Product::of<T, T>(s, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (with_bias) p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.device);
    if (with_aux) {
        p.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, kept.device);
        p.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, (int64_t)s.m);
    }
    p.run(&one, a.device, b.device, &zero, d.device);
    auto got = d.down(), before = kept.down();
    for (int j = 0; j < s.n; j++)
        for (int i = 0; i < s.m; i++) {
            double value = sum_of(s, a, b, i, j) + (with_bias ? number(bias.host[i]) : 0);
            double wanted = with_gelu ? gelu(value) : with_relu ? std::fmax(value, 0) : value;
            CHECK(close_to(got[i + j * s.ldc], wanted));
            if (with_aux) CHECK(close_to(before[i + j * s.m], value));
        }
    p.end();
}

// Forward keeps what it saw, backward uses it: GELU by numbers, RELU by bits.
static void backwards()
{
    const Shape s = shape_of(CUBLAS_OP_N, CUBLAS_OP_N, 128, 24, 16, 0);
    Array<float> a(s.a_count(), 1), b(s.b_count(), 2), d(s.c_count(), 3), kept(s.c_count(), 4), sums(s.m, 5);
    const float one = 1, zero = 0;
    Product p = Product::of<float, float>(s, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DGELU_BGRAD);
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, kept.device);
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, (int64_t)s.m);
    p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, sums.device);
    p.run(&one, a.device, b.device, &zero, d.device);
    auto got = d.down(), row_sums = sums.down();
    for (int i = 0; i < s.m; i++) {
        double row = 0;
        for (int j = 0; j < s.n; j++) {
            double wanted = sum_of(s, a, b, i, j) * gelu_slope(kept.host[i + j * s.m]);
            CHECK(close_to(got[i + j * s.ldc], wanted, 4));
            row += got[i + j * s.ldc];
        }
        CHECK(close_to(row_sums[i], row, 4));
    }
    Array<uint8_t> signs(s.c_count() / 8, 6);
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_AUX);
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, signs.device);
    p.run(&one, a.device, b.device, &zero, d.device);
    got = d.down();
    for (int j = 0; j < s.n; j++)
        for (int i = 0; i < s.m; i++)
            CHECK(close_to(got[i + j * s.ldc], std::fmax(sum_of(s, a, b, i, j), 0)));
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DRELU);
    p.run(&one, a.device, b.device, &zero, d.device);
    auto gated = d.down();
    for (int j = 0; j < s.n; j++)
        for (int i = 0; i < s.m; i++)
            CHECK(gated[i + j * s.ldc] == (got[i + j * s.ldc] > 0 ? got[i + j * s.ldc] : 0));
    p.end();
}

// The sums of a factor over what is summed in the product: op(A)'s rows, op(B)'s columns.
template <class T> static void bias_gradients(cublasOperation_t ta, cublasOperation_t tb)
{
    const Shape s = shape_of(ta, tb, 40, 32, 528, 0);
    Array<T> a(s.a_count(), 1), b(s.b_count(), 2), d(s.c_count(), 3), sums(s.m, 4);
    const float one = 1, zero = 0;
    Product p = Product::of<T, T>(s, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, sums.device);
    for (auto which : {CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB}) {
        bool of_a = which == CUBLASLT_EPILOGUE_BGRADA;
        p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, which);
        p.run(&one, a.device, b.device, &zero, d.device);
        check_product<T, T, float>(s, a.host.data(), b.host.data(), d.host.data(), d.down().data(), 1, 0);
        auto got = sums.down();
        for (int i = 0; i < (of_a ? s.m : s.n); i++) {
            double sum = 0;
            for (int k = 0; k < s.k; k++)
                sum += of_a ? number(ta == CUBLAS_OP_N ? a.host[i + k * s.lda] : a.host[k + i * s.lda])
                            : number(tb == CUBLAS_OP_N ? b.host[k + i * s.ldb] : b.host[i + k * s.ldb]);
            CHECK(close_to(got[i], sum, 30));
        }
    }
    p.end();
}

static void attributes()
{
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t layout;
    int32_t batch = 0;
    uint64_t rows = 0;
    size_t written = 0;
    void *pointer = &batch;
    BLAS(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    BLAS(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 3, 5, 7));
    BLAS(cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows, &written));
    CHECK(rows == 3 && written == sizeof rows);
    BLAS(cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch,
                                          &written));
    CHECK(batch == 1);
    BLAS_IS(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &batch, sizeof batch),
            CUBLAS_STATUS_INVALID_VALUE);
    BLAS_IS(cublasLtMatmulDescSetAttribute(desc, (cublasLtMatmulDescAttributes_t)1000, &batch, sizeof batch),
            CUBLAS_STATUS_INVALID_VALUE);
    BLAS(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointer, sizeof pointer));
    pointer = nullptr;
    BLAS(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointer, sizeof pointer,
                                        &written));
    CHECK(pointer == &batch);
    BLAS(cublasLtMatrixLayoutDestroy(layout));
    BLAS(cublasLtMatmulDescDestroy(desc));
}

// Sizes that contradict each other; and a handle of cuBLAS serves as well.
static void arguments()
{
    const Shape s = shape_of(CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, 0);
    Array<float> a(256, 1), d(256, 2);
    const float one = 1, zero = 0;
    Product p = Product::of<float, float>(s, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasHandle_t whole;
    BLAS(cublasCreate(&whole));
    BLAS(cublasLtMatmul((cublasLtHandle_t)whole, p.desc, &one, a.device, p.a, a.device, p.b, &zero, d.device,
                        p.d, d.device, p.d, nullptr, nullptr, 0, 0));
    check_product<float, float, float>(s, a.host.data(), a.host.data(), d.host.data(), d.down().data(), 1, 0);
    BLAS(cublasDestroy(whole));
    uint64_t rows = 24;
    BLAS(cublasLtMatrixLayoutSetAttribute(p.b, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows));
    CHECK(cublasLtMatmul(handle, p.desc, &one, a.device, p.a, a.device, p.b, &zero, d.device, p.d, d.device,
                         p.d, nullptr, nullptr, 0, 0) == CUBLAS_STATUS_INVALID_VALUE);
    p.end();
}

// An algorithm by a number that was found on a GPU, configured as it was there.
static void preset_algorithms()
{
    const int count = 4;
    Array<double> a(count * count), b(count * count), d(count * count);
    Shape shape = {};
    shape.m = shape.n = shape.k = shape.lda = shape.ldb = shape.ldc = count;
    shape.ta = shape.tb = CUBLAS_OP_N;
    a.fill(2);
    b.fill(3);
    const double one = 1, zero = 0;
    Product product = Product::of<double, double>(shape, CUBLAS_COMPUTE_64F, CUDA_R_64F);
    for (int id : {0, 10, 66}) {
        cublasLtMatmulAlgo_t algo;
        BLAS(cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F,
                                    CUDA_R_64F, id, &algo));
        int number = -1;
        int32_t splits = 0;
        uint32_t tile = 7, wrong = 1;
        uint16_t cluster = 9;
        size_t bytes = 0;
        BLAS(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &number, sizeof number, &bytes));
        CHECK(number == id && bytes == sizeof number);
        BLAS(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits, sizeof splits,
                                                  nullptr));
        CHECK(splits == 1);
        BLAS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile));
        BLAS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &cluster,
                                                  sizeof cluster));
        tile = cluster = 0;
        BLAS(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile, nullptr));
        BLAS(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &cluster,
                                                  sizeof cluster, nullptr));
        CHECK(tile == 7 && cluster == 9);
        BLAS_IS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &number, sizeof number),
                CUBLAS_STATUS_INVALID_VALUE);
        BLAS_IS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &wrong,
                                                     sizeof wrong),
                CUBLAS_STATUS_INVALID_VALUE);
        BLAS(cublasLtMatmul(handle, product.desc, &one, a.device, product.a, b.device, product.b, &zero, d.device,
                            product.d, d.device, product.d, &algo, nullptr, 0, 0));
        CUDA(cudaDeviceSynchronize());
        for (double x : d.down()) CHECK(x == 2 * 3 * count);
    }
    cublasLtMatmulAlgo_t algo;
    BLAS_IS(cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F,
                                   CUDA_R_64F, -1, &algo),
            CUBLAS_STATUS_INVALID_VALUE);
    product.end();
}

int main()
{
    BLAS(cublasLtCreate(&handle));
    for (auto ta : {CUBLAS_OP_N, CUBLAS_OP_T})
        for (auto tb : {CUBLAS_OP_N, CUBLAS_OP_T}) {
            plain<float>(ta, tb, 1, 0);
            plain<__nv_bfloat16>(ta, tb, 0.5f, 1);
            plain<__half>(ta, tb, 1, -1);
        }
    double_precision_on_device();
    rows_first();
    batches();
    activations<float>(CUBLASLT_EPILOGUE_BIAS, true, false, false, false);
    activations<float>(CUBLASLT_EPILOGUE_RELU, false, false, true, false);
    activations<float>(CUBLASLT_EPILOGUE_RELU_BIAS, true, false, true, false);
    activations<float>(CUBLASLT_EPILOGUE_GELU, false, true, false, false);
    activations<float>(CUBLASLT_EPILOGUE_GELU_AUX, false, true, false, true);
    activations<__nv_bfloat16>(CUBLASLT_EPILOGUE_BIAS, true, false, false, false);
    activations<__nv_bfloat16>(CUBLASLT_EPILOGUE_GELU_BIAS, true, true, false, false);
    activations<__nv_bfloat16>(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, true, true, false, true);
    activations<__half>(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, true, true, false, true);
    backwards();
    bias_gradients<float>(CUBLAS_OP_N, CUBLAS_OP_T);
    bias_gradients<__nv_bfloat16>(CUBLAS_OP_N, CUBLAS_OP_T);
    bias_gradients<__half>(CUBLAS_OP_T, CUBLAS_OP_N);
    attributes();
    preset_algorithms();
    arguments();
    BLAS(cublasLtDestroy(handle));
    return 0;
}
