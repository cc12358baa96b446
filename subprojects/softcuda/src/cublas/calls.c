/* The exported functions, each with int and with int64_t counts: they collect their arguments into
 * structures. */
#include "handle.h"

#define SC_INT int
#define SC_SUFFIX
#define SC_WIDE false
#include "calls_any.inc"
#include "calls_typed.inc"
#undef SC_INT
#undef SC_SUFFIX
#undef SC_WIDE

#define SC_INT int64_t
#define SC_SUFFIX _64
#define SC_WIDE true
#include "calls_any.inc"
#include "calls_typed.inc"
