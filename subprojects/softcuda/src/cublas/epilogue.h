/* What happens to a product's elements before they are stored. */
#ifndef SOFTCUDA_CUBLAS_EPILOGUE_H
#define SOFTCUDA_CUBLAS_EPILOGUE_H

#include "gemm.h"

#define SC_TILE_ROWS 512
#define SC_TILE_COLUMNS 256

/* A piece of D that one worker makes. */
struct sc_tile {
    uint32_t matrix; /* of the batch */
    int64_t row, column, rows, columns;
};

/* Stores D from `sums`, op(A) op(B) with leading dimension tile->rows, which it overwrites. */
void sc_epilogue_store(const struct sc_gemm *gemm, const struct sc_tile *tile, float alpha, float beta,
                       float *sums);

/* The BGRAD forms, for one matrix of the batch, once D is stored. false: no host memory. */
bool sc_epilogue_bias_gradient(const struct sc_gemm *gemm, uint32_t matrix);

#endif
