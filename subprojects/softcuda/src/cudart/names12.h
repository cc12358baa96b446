/* The Runtime API of CUDA 12 has older forms of some functions under the plain name, and CUDA 13's form under
 * a later name. In libcudart.so.12 the functions of these sources get that later name; names12.c defines the
 * older forms. Include this header before the functions are declared. */
#ifndef SOFTCUDA_CUDART_NAMES12_H
#define SOFTCUDA_CUDART_NAMES12_H

#ifdef SC_CUDART_12
#define SC_PRAGMA(text) _Pragma(#text)
#define RENAMED(name, to) SC_PRAGMA(redefine_extname name to)
#include "names12.def"
#undef RENAMED
#undef SC_PRAGMA
#define SC_RUNTIME_VERSION 12090
#else
#define SC_RUNTIME_VERSION 13000
#endif

#endif
