/* The functions that programs reach instead of the driver's. entry.c makes them from driver_api.def and
 * exports each under its ABI name; look-ups return these internal symbols, which cannot be preempted. */
#ifndef SLUICE_SHIM_ENTRY_H
#define SLUICE_SHIM_ENTRY_H

#include "driver_api.h"

#define SL_ROW0(symbol, name, version) sl_fn_##symbol sl_entry_##symbol;
#define SL_ROW(symbol, name, version, declarations, arguments) sl_fn_##symbol sl_entry_##symbol;
#define SL_PAIR(symbol, suffix, name, version, thread_version, declarations, arguments)                      \
    sl_fn_##symbol sl_entry_##symbol, sl_entry_##symbol##_##suffix;
#include "driver_api.def"
#undef SL_ROW0
#undef SL_ROW
#undef SL_PAIR

#endif
