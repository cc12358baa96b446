/* Functions that are not implemented. Arguments are ignored, so they are defined without parameters: callers
 * pass them in registers and on their own stack. */
#include "driver/log.h"

#define INVALID_USAGE                                                                                        \
    5 /* ncclInvalidUsage; not from nccl.h, which declares these functions with their parameters */

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
