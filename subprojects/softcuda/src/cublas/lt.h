/* The contents of cuBLASLt's opaque descriptors. */
#ifndef SOFTCUDA_CUBLAS_LT_H
#define SOFTCUDA_CUBLAS_LT_H

#include <stdbool.h>

#include "api_lt.h"
#include "gemm.h"

struct sc_lt_layout {
    int32_t type, order;
    uint64_t rows, columns;
    int64_t ld, stride, plane;
    int32_t batch, batch_mode;
};

struct sc_lt_desc {
    int32_t compute, scale_type, pointer_mode, transa, transb, transc, fill;
    uint32_t epilogue;
    uint64_t bias, aux;
    int64_t bias_stride, aux_ld, aux_stride, alpha_stride;
    int32_t bias_type, aux_type; /* -1: the type of D */
    int32_t processors;
    int8_t fast_accumulation;
    uint64_t scales[8]; /* scale and amax pointers of narrow types; not implemented */
    int32_t scale_modes[6];
    uint64_t emulation;
};

struct sc_lt_preference {
    uint32_t search_mode, reduction_mask, alignments[4];
    uint64_t workspace_bytes, implementations;
    float waves;
};

/* An algorithm. All compute the same; its number and configuration are kept for the program. */
struct sc_lt_algo {
    int32_t id;
    uint32_t tile;
    int32_t splits;
    uint32_t reduction, swizzling, option, stages;
    uint16_t inner_shape, cluster_shape;
};

_Static_assert(sizeof(struct sc_lt_algo) <= sizeof(cublasLtMatmulAlgo_t), "must fit");
_Static_assert(sizeof(struct sc_lt_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "must fit");
_Static_assert(sizeof(struct sc_lt_desc) <= sizeof(cublasLtMatmulDescOpaque_t), "must fit");
_Static_assert(sizeof(struct sc_lt_preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "must fit");

/* The algorithm with this number, not configured. */
void sc_lt_algo_init(cublasLtMatmulAlgo_t *algo, int id);

/* CUBLAS_STATUS_NOT_INITIALIZED if it is not a handle of cuBLAS or cuBLASLt. */
cublasStatus_t sc_lt_check(cublasLtHandle_t handle);
/* Logs that `function` was called with an option that is not implemented. */
cublasStatus_t sc_lt_not_supported(const char *function, const char *what);

struct sc_lt_problem {
    const struct sc_lt_desc *desc;
    const struct sc_lt_layout *a, *b, *c, *d;
};

/* Converts a product to the kernel's shape, without pointers, alpha and beta. `*swapped`: A and B were
 * swapped. CUBLAS_STATUS_INVALID_VALUE: the sizes are inconsistent. */
cublasStatus_t sc_lt_plan(const struct sc_lt_problem *problem, struct sc_gemm_shape *shape, bool *swapped,
                          const char **missing);

#endif
