#ifndef NUMBERS_FUNCTIONS_H
#define NUMBERS_FUNCTIONS_H

#include "driver_api.h"

#define SL_ROW0(symbol, name, version) sl_fn_##symbol second_##symbol;
#define SL_ROW(symbol, name, version, declarations, arguments) sl_fn_##symbol second_##symbol;
#define SL_PAIR(symbol, suffix, name, version, thread_version, declarations, arguments)                      \
    sl_fn_##symbol second_##symbol, second_##symbol##_##suffix;
#include "driver_api.def"
#undef SL_ROW0
#undef SL_ROW
#undef SL_PAIR

#endif
