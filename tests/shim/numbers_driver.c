/* The functions of numbers.h, each twice: as the exported symbol, and at a second address for the resolver.
 * Weak, so that numbers_resolver.c can do better for its own two. */
#include "numbers.h"

#include "numbers_functions.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define FUNCTION(symbol, declarations)                                                                       \
    extern CUresult CUDAAPI numbers_##symbol declarations __asm__(#symbol)                                   \
        __attribute__((weak, visibility("default")));                                                        \
    CUresult CUDAAPI numbers_##symbol declarations                                                           \
    {                                                                                                        \
        return (CUresult)NUMBER_##symbol;                                                                    \
    }                                                                                                        \
    CUresult CUDAAPI second_##symbol declarations                                                            \
    {                                                                                                        \
        return (CUresult)NUMBER_##symbol;                                                                    \
    }

#define SL_ROW0(symbol, name, version) FUNCTION(symbol, (void))
#define SL_ROW(symbol, name, version, declarations, arguments) FUNCTION(symbol, declarations)
#define SL_PAIR(symbol, suffix, name, version, thread_version, declarations, arguments)                      \
    FUNCTION(symbol, declarations) FUNCTION(symbol##_##suffix, declarations)
#include "driver_api.def"
#undef SL_ROW0
#undef SL_ROW
#undef SL_PAIR
