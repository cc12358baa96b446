/* A driver for look-up tests only: every function of the shim's table answers with its own number, as an
 * error code that no real driver has. So a test knows which function a pointer leads to, whoever stands in
 * front of it.
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "driver_api.h"

#define NUMBERS_FIRST 10000
#define NUMBERS_OLD_ALLOC 9000 /* cuMemAlloc of CUDA 2, which the table leaves alone */

enum numbers {
    NUMBERS_BEFORE = NUMBERS_FIRST,
#define SL_ROW0(symbol, name, version) NUMBER_##symbol,
#define SL_ROW(symbol, name, version, declarations, arguments) NUMBER_##symbol,
#define SL_PAIR(symbol, suffix, name, version, thread_version, declarations, arguments)                      \
    NUMBER_##symbol, NUMBER_##symbol##_##suffix,
#include "driver_api.def"
#undef SL_ROW0
#undef SL_ROW
#undef SL_PAIR
};

#endif
