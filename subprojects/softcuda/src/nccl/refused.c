/* Functions that are not implemented. Arguments are ignored, so they are defined without parameters: callers
 * pass them in registers and on their own stack. */
#include "driver/log.h"

#define INVALID_USAGE 5 /* ncclInvalidUsage; nccl.h would declare these functions with parameters */

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
