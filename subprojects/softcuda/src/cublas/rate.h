/* Which units of the device compute a product, for its time. */
#ifndef SOFTCUDA_CUBLAS_RATE_H
#define SOFTCUDA_CUBLAS_RATE_H

#include "api.h"
#include "element.h"
#include "engine.h"

/* `type`: enum sc_type of what is multiplied. `tf32`: fp32 may be rounded to it. */
static inline enum sc_matrix_rate sc_rate_of_product(uint8_t type, cublasComputeType_t compute, bool tf32)
{
    bool pedantic = compute == CUBLAS_COMPUTE_16F_PEDANTIC || compute == CUBLAS_COMPUTE_32F_PEDANTIC;
    if (type == SC_F64 || pedantic) return SC_RATE_NONE;
    if (type != SC_F32 || compute == CUBLAS_COMPUTE_32F_FAST_16F || compute == CUBLAS_COMPUTE_32F_FAST_16BF)
        return SC_RATE_HALF;
    return tf32 || compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? SC_RATE_TF32 : SC_RATE_NONE;
}

#endif
