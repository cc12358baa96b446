/* Operations on a product's elements before they are stored. */
#ifndef SOFTCUDA_CUBLAS_EPILOGUE_H
#define SOFTCUDA_CUBLAS_EPILOGUE_H

#include "gemm.h"

#define SC_TILE_ROWS 512
#define SC_TILE_COLUMNS 256

/* A part of D that one worker computes. */
struct sc_tile {
    uint32_t matrix; /* of the batch */
    int64_t row, column, rows, columns;
};

/* Stores D from `sums`, which holds op(A) op(B) with leading dimension tile->rows. Overwrites `sums`. */
void sc_epilogue_store(const struct sc_gemm *gemm, const struct sc_tile *tile, float alpha, float beta,
                       float *sums);

/* The BGRAD epilogues for one matrix of the batch, after D was stored. false: no host memory. */
bool sc_epilogue_bias_gradient(const struct sc_gemm *gemm, uint32_t matrix);

#endif
