/* write_seeds FOLDER: the sample records as the fuzzer of the commands takes them, once for each command. */
#include <stdio.h>

#include "trace_file.h"
#include "trace_format.h"

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    for (int command = 0; command < 16; command++) {
        char path[4096];
        uint8_t bytes[SL_TRACE_RECORD_MAX];
        snprintf(path, sizeof(path), "%s/%d", argv[1], command);
        FILE *file = fopen(path, "wb");
        if (!file) return 1;
        fputc(command, file);
        struct sl_trace_base base = {0};
        for (size_t i = 0; i < trace_sample_count; i++)
            fwrite(bytes, 1, sl_trace_encode(&trace_samples[i], &base, bytes), file);
        if (fclose(file)) return 1;
    }
    return 0;
}
