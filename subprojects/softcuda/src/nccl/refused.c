/* The functions that are not built. Their arguments are never looked at, so they are defined without any:
 * callers pass them in registers and on their own stack. */
#include "driver/log.h"

#define INVALID_USAGE                                                                                        \
    5 /* ncclInvalidUsage: nccl.h, which declares these functions otherwise, is not included */

#define BUILT(name)
#define REFUSED(name)                                                                                        \
    __attribute__((visibility("default"))) int name(void);                                                   \
    int name(void)                                                                                           \
    {                                                                                                        \
        sc_log("%s: not implemented", #name);                                                                \
        return INVALID_USAGE;                                                                                \
    }
#include "functions.def"
#undef REFUSED
#undef BUILT
