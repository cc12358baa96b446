/* There is no cuDNN here. Frameworks that are linked with it load this instead: it answers what it is asked
 * while they are loaded, and refuses all else with one line that says what to do. Arguments of what it
 * refuses are never looked at, so those functions are defined without any.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "../driver/log.h"

#define EXPORTED __attribute__((visibility("default")))
#define NOT_SUPPORTED 3000 /* CUDNN_STATUS_NOT_SUPPORTED */
#define VERSION 99900      /* 9.99.0: no framework finds it too old */
#define CUDART_VERSION_SAID 13000

static int refuse(const char *name)
{
    static _Atomic int said;
    if (!atomic_exchange(&said, 1))
        sc_log("%s: there is no cuDNN on softcuda. In PyTorch torch.backends.cudnn.enabled = False has it "
               "use its own kernels",
               name);
    return NOT_SUPPORTED;
}

#define REFUSED(name)                                                                                        \
    EXPORTED int name(void);                                                                                 \
    int name(void)                                                                                           \
    {                                                                                                        \
        return refuse(#name);                                                                                \
    }
#include "refused.def"
#undef REFUSED

EXPORTED size_t cudnnGetVersion(void);
size_t cudnnGetVersion(void)
{
    return VERSION;
}

EXPORTED size_t cudnnGetMaxDeviceVersion(void);
size_t cudnnGetMaxDeviceVersion(void)
{
    return 0;
}

EXPORTED size_t cudnnGetCudartVersion(void);
size_t cudnnGetCudartVersion(void)
{
    return CUDART_VERSION_SAID;
}

EXPORTED const char *cudnnGetErrorString(int status);
const char *cudnnGetErrorString(int status)
{
    return status ? "not supported: softcuda has no cuDNN" : "success";
}

EXPORTED void cudnnGetLastErrorString(char *message, size_t bytes);
void cudnnGetLastErrorString(char *message, size_t bytes)
{
    if (message && bytes) snprintf(message, bytes, "softcuda has no cuDNN");
}
