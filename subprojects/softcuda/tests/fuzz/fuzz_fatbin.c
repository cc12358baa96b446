/* The fat binary reader on arbitrary bytes. */
#include "fatbin.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const unsigned archs[] = {0, 80, 90};
    struct sc_fatbin_images images = {0};
    char why[128] = "";
    const unsigned arch = archs[bytes % 3];
    if (sc_fatbin_ptx_bounded(data, bytes, arch, &images, why, sizeof why) != SC_FATBIN_OK) {
        if (images.items || why[0] == '\0') __builtin_trap();
        return 0;
    }
    if (images.count != 1 || strlen(images.items[0].text) != images.items[0].bytes) __builtin_trap();
    sc_fatbin_images_free(&images);
    return 0;
}
