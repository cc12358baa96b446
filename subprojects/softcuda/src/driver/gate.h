/* Every function of the API is compiled under the name sc_do_NAME, and gate.S exports NAME as a stub that
 * calls it. So every call from outside, by symbol or by a pointer from cuGetProcAddress, passes one place
 * where a fault can be injected (fault.h); calls between the library's own functions do not. Include this
 * header before the functions are declared. */
#ifndef SOFTCUDA_GATE_H
#define SOFTCUDA_GATE_H

#define SC_PRAGMA(text) _Pragma(#text)
#define SC_API(name, symbol, version, streams) SC_PRAGMA(redefine_extname symbol sc_do_##symbol)
#include "api_built.def"
#include "api_refused.def"
#undef SC_API
#undef SC_PRAGMA

#endif
