#include "entry.h"

#include "driver.h"

#define SL_EXPORT(symbol, declarations)                                                                      \
    extern CUresult CUDAAPI sl_export_##symbol declarations __asm__(#symbol)                                 \
        __attribute__((alias("sl_entry_" #symbol), visibility("default")));

/* A program that calls a driver function by name has loaded the driver, unless the reference is weak. */
#define SL_BODY(field, hook, stream, arguments)                                                              \
    {                                                                                                        \
        struct sl_call call = {__builtin_return_address(0), stream};                                         \
        sl_fn_##hook *real = __atomic_load_n(&sl_real.f_##field, __ATOMIC_ACQUIRE);                          \
        if (__builtin_expect(!real, 0)) {                                                                    \
            if (!sl_driver_load_now()) return CUDA_ERROR_NOT_FOUND;                                          \
            real = __atomic_load_n(&sl_real.f_##field, __ATOMIC_ACQUIRE);                                    \
            if (!real) return CUDA_ERROR_NOT_FOUND;                                                          \
        }                                                                                                    \
        if (__builtin_expect(sl_from_driver(call.caller), 0)) return real arguments;                         \
        return sl_hook_##hook(call, real SL_APPEND arguments);                                               \
    }
#define SL_APPEND(...) __VA_OPT__(, ) __VA_ARGS__

#define SL_ROW0(symbol, name, version)                                                                       \
    CUresult CUDAAPI sl_entry_##symbol(void) SL_BODY(symbol, symbol, NULL, ()) SL_EXPORT(symbol, (void))
#define SL_ROW(symbol, name, version, declarations, arguments)                                               \
    CUresult CUDAAPI sl_entry_##symbol declarations SL_BODY(symbol, symbol, NULL, arguments)                 \
        SL_EXPORT(symbol, declarations)
#define SL_PAIR(symbol, suffix, name, version, thread_version, declarations, arguments)                      \
    CUresult CUDAAPI sl_entry_##symbol declarations SL_BODY(symbol, symbol, NULL, arguments)                 \
        SL_EXPORT(symbol, declarations) CUresult CUDAAPI sl_entry_##symbol##_##suffix declarations           \
        SL_BODY(symbol##_##suffix, symbol, CU_STREAM_PER_THREAD, arguments)                                  \
            SL_EXPORT(symbol##_##suffix, declarations)
#include "driver_api.def"
