/* The functions that a program calls, each in its forms for int and int64_t: they gather their arguments. */
#include "handle.h"

#define SC_INT int
#define SC_SUFFIX
#define SC_WIDE false
#include "calls_any.inc"
#define SC_T float
#define SC_CUDA_TYPE CUDA_R_32F
#define SC_COMPUTE CUBLAS_COMPUTE_32F
#define SC_LETTER S
#include "calls_one_type.inc"
#undef SC_T
#undef SC_CUDA_TYPE
#undef SC_COMPUTE
#undef SC_LETTER
#define SC_T double
#define SC_CUDA_TYPE CUDA_R_64F
#define SC_COMPUTE CUBLAS_COMPUTE_64F
#define SC_LETTER D
#include "calls_one_type.inc"
#undef SC_T
#undef SC_CUDA_TYPE
#undef SC_COMPUTE
#undef SC_LETTER
#undef SC_INT
#undef SC_SUFFIX
#undef SC_WIDE

#define SC_INT int64_t
#define SC_SUFFIX _64
#define SC_WIDE true
#include "calls_any.inc"
#define SC_T float
#define SC_CUDA_TYPE CUDA_R_32F
#define SC_COMPUTE CUBLAS_COMPUTE_32F
#define SC_LETTER S
#include "calls_one_type.inc"
#undef SC_T
#undef SC_CUDA_TYPE
#undef SC_COMPUTE
#undef SC_LETTER
#define SC_T double
#define SC_CUDA_TYPE CUDA_R_64F
#define SC_COMPUTE CUBLAS_COMPUTE_64F
#define SC_LETTER D
#include "calls_one_type.inc"
