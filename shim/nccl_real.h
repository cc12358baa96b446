/* NCCL's own functions, which this library's functions of the same names hide. */
#ifndef SLUICE_SHIM_NCCL_REAL_H
#define SLUICE_SHIM_NCCL_REAL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cuda.h>

struct sl_nccl_id {
    char bytes[128];
};

/* sl_fn_SYMBOL: the type of a function; sl_entry_SYMBOL: the function that programs reach instead. All return
 * a result of NCCL. */
#define SL_NCCL(symbol, declarations, arguments, ...)                                                        \
    typedef int sl_fn_##symbol declarations;                                                                 \
    sl_fn_##symbol sl_entry_##symbol;
#include "nccl_api.def"
#include "nccl_made.def"
SL_NCCL(ncclGroupStart, (void), ())
SL_NCCL(ncclGroupEnd, (void), ())
SL_NCCL(ncclCommInitAll, (void **made, int count, const int *devices), )
typedef int sl_fn_ncclCommCount(void *communicator, int *count);
typedef int sl_fn_ncclCommUserRank(void *communicator, int *rank);
#undef SL_NCCL

/* Functions of the library that was found first. */
extern struct sl_nccl_real {
#define SL_NCCL(symbol, declarations, arguments, ...) sl_fn_##symbol *_Atomic f_##symbol;
#include "nccl_api.def"
#include "nccl_made.def"
    SL_NCCL(ncclGroupStart, , )
    SL_NCCL(ncclGroupEnd, , )
    SL_NCCL(ncclCommInitAll, , )
    SL_NCCL(ncclCommCount, , )
    SL_NCCL(ncclCommUserRank, , )
#undef SL_NCCL
} sl_nccl_real;

/* The function that the loader would find for `caller`, in the program's code, without this library; NULL:
 * none. */
void *sl_nccl_find(const char *name, const void *caller);

/* The function, or NULL. */
#define SL_NCCL_REAL(name, caller)                                                                           \
    ({                                                                                                       \
        sl_fn_##name *known_ = atomic_load(&sl_nccl_real.f_##name);                                          \
        if (!known_) {                                                                                       \
            void *found_ = sl_nccl_find(#name, caller);                                                      \
            memcpy(&known_, &found_, sizeof known_);                                                         \
            if (known_) atomic_store(&sl_nccl_real.f_##name, known_);                                        \
        }                                                                                                    \
        known_;                                                                                              \
    })

/* Result of an entry without a real function: ncclUnhandledCudaError. */
#define SL_NCCL_MISSING 1

/* Exports an entry under the function's own name. */
#define SL_NCCL_EXPORT(symbol, declarations)                                                                 \
    extern int sl_export_##symbol declarations __asm__(#symbol)                                              \
        __attribute__((alias("sl_entry_" #symbol), visibility("default")));

#endif
