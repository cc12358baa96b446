/* Functions of the Runtime API that are not implemented: each logs that once, and fails. Arguments are
 * ignored, so the functions are defined without parameters; therefore this file does not include the vendor's
 * header. */
#include "refused.h"

#include "once.h"

#define SC_EXPORT __attribute__((visibility("default")))

enum { NOT_SUPPORTED = 801 }; /* cudaErrorNotSupported */

#define REFUSED(name)                                                                                        \
    SC_EXPORT int name(void);                                                                                \
    SC_EXPORT int name(void)                                                                                 \
    {                                                                                                        \
        sc_log_once(#name, #name " is not supported by this device");                                        \
        return sc_refuse(NOT_SUPPORTED);                                                                     \
    }
#include "refused.def"
#undef REFUSED
