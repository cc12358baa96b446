/* The fat binary reader on arbitrary bytes. With libFuzzer it explores; without, it runs each file that it is
 * given. */
#include "fatbin.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

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

#ifndef SOFTCUDA_LIBFUZZER
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *stream = fopen(argv[i], "rb");
        if (!stream) {
            perror(argv[i]);
            return 1;
        }
        fseek(stream, 0, SEEK_END);
        const size_t bytes = (size_t)ftell(stream);
        rewind(stream);
        uint8_t *data = malloc(bytes ? bytes : 1);
        if (!data || fread(data, 1, bytes, stream) != bytes) return 1;
        fclose(stream);
        LLVMFuzzerTestOneInput(data, bytes);
        free(data);
    }
    return 0;
}
#endif
