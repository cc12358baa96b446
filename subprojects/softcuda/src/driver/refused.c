/* Functions that are not implemented. This file does not include cuda.h, so that each can be defined without
 * parameters; arguments are passed in registers and on the caller's stack, where ignoring them is
 * harmless. */
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
