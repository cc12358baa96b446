/* What the fuzz programs share: with libFuzzer they explore; without, they run each file that they are given.
 */
#ifndef SOFTCUDA_FUZZ_H
#define SOFTCUDA_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

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

#endif
