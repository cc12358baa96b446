#include "openblas.h"

#include <cblas.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The linker binds every getenv of this library to this function (--wrap), including OpenBLAS's, which reads
 * its settings before any other function can run. */
char *__wrap_getenv(const char *name);
char *__real_getenv(const char *name);

/* Older builds of OpenBLAS do not recognise newer processors and would choose their oldest code. */
static char *best_core(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return (char *)"SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return (char *)"Haswell";
    return NULL;
}

char *__wrap_getenv(const char *name)
{
    if (!strcmp(name, "OPENBLAS_NUM_THREADS")) return (char *)"1";
    char *value = __real_getenv(name);
    return !value && !strcmp(name, "OPENBLAS_CORETYPE") ? best_core() : value;
}

/* Concurrent calls of a build without threads are not safe. */
static pthread_mutex_t one_caller = PTHREAD_MUTEX_INITIALIZER;
static bool is_sequential;

static void look(void)
{
    is_sequential = openblas_get_parallel() == OPENBLAS_SEQUENTIAL;
#ifdef SC_OPENBLAS_IS_SHARED
    openblas_set_num_threads(1);
#endif
}

static void enter(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
    if (is_sequential) pthread_mutex_lock(&one_caller);
}

static void leave(void)
{
    if (is_sequential) pthread_mutex_unlock(&one_caller);
}

void sc_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
              const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
    enter();
    cblas_sgemm(CblasColMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, alpha, a, (int)lda, b,
                (int)ldb, beta, c, (int)ldc);
    leave();
}

void sc_dgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
              const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc)
{
    enter();
    cblas_dgemm(CblasColMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, alpha, a, (int)lda, b,
                (int)ldb, beta, c, (int)ldc);
    leave();
}
