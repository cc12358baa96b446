/* There is no cuDNN. Frameworks that are linked with it load this library instead. It answers queries during
 * loading, and refuses all other calls with one log line that says what to do. Arguments of refused functions
 * are ignored, so they are defined without parameters.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "../driver/log.h"

#define EXPORTED __attribute__((visibility("default")))
enum { BAD_PARAM = 2000, NOT_SUPPORTED = 3000 }; /* of cudnnStatus_t */
/* Recent enough for every framework. */
enum { MAJOR = 9, MINOR = 99, PATCH = 0, VERSION = MAJOR * 10000 + MINOR * 100 + PATCH };
#define CUDART_VERSION_SAID 13000

static int refuse(const char *name)
{
    static _Atomic int said;
    if (!atomic_exchange(&said, 1))
        sc_log("%s: there is no cuDNN on softcuda. In PyTorch torch.backends.cudnn.enabled = False and, for "
               "attention, torch.backends.cuda.enable_cudnn_sdp(False) have it use its own kernels",
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

/* `property`: enum libraryPropertyType_t of library_types.h. */
EXPORTED int cudnnGetProperty(int property, int *value);
int cudnnGetProperty(int property, int *value)
{
    static const int version[] = {MAJOR, MINOR, PATCH};
    if (property < 0 || property > 2 || !value) return BAD_PARAM;
    *value = version[property];
    return 0;
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
