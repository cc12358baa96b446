/* The functions that are not implemented. This file sees no cuda.h, so that each can be defined without its
 * parameters; callers pass them in registers and on their own stack, where ignoring them is harmless. */
#include "gate.h"
#include "log.h"

#define NOT_SUPPORTED 801

#define SC_API(name, symbol, version, streams)                                                               \
    int symbol(void);                                                                                        \
    int symbol(void)                                                                                         \
    {                                                                                                        \
        sc_log("%s: not implemented", #symbol);                                                              \
        return NOT_SUPPORTED;                                                                                \
    }
#include "api_refused.def"
