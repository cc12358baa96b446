/* Every function of the API is compiled under another name, sc_do_ before its own, and gate.S exports the
 * real one in front of it. So whoever calls a function, by its symbol or by what cuGetProcAddress returned,
 * passes one place where a fault may be injected (fault.h); calls between the library's own functions do not.
 * To be included before the functions are declared. */
#ifndef SOFTCUDA_GATE_H
#define SOFTCUDA_GATE_H

#define SC_PRAGMA(text) _Pragma(#text)
#define SC_API(name, symbol, version, streams) SC_PRAGMA(redefine_extname symbol sc_do_##symbol)
#include "api_built.def"
#include "api_refused.def"
#undef SC_API
#undef SC_PRAGMA

#endif
