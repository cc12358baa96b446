/* Functions that are not implemented. Arguments are ignored, so they are defined without parameters: callers
 * pass them in registers and on their own stack. */
#include "refused.h"

#define REFUSED(name)                                                                                        \
    __attribute__((visibility("default"))) int name(void);                                                   \
    int name(void)                                                                                           \
    {                                                                                                        \
        return sc_refuse_function(#name);                                                                    \
    }
#include SC_REFUSED_LIST
#undef REFUSED
