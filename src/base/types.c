#include "base/types.h"

const char *sl_status_text(enum sl_status status)
{
    static const char *const texts[] = {
        [SL_OK] = "ok",
        [SL_ERR_NO_MEMORY] = "out of memory",
        [SL_ERR_INVALID] = "invalid argument",
        [SL_ERR_UNSUPPORTED] = "not supported by the driver or the device",
        [SL_ERR_DRIVER] = "a driver call failed",
        [SL_ERR_IO] = "input/output error",
        [SL_ERR_FORMAT] = "not in the expected format",
        [SL_ERR_VERSION] = "written by a newer sluice",
        [SL_ERR_TRUNCATED] = "file ends early",
        [SL_ERR_LOST] = "the device is lost",
    };
    size_t index = (size_t)status;
    return index < sizeof(texts) / sizeof(*texts) ? texts[index] : "unknown status";
}
