/* write_seeds FOLDER: the sample records, and a training run, as the fuzzer of the commands takes them, once
 * for each command. */
#include <stdio.h>

#include "trace/trace_format.h"
#include "trace_file.h"
#include "training.h"

enum { COMMANDS = 24 }; /* at least as many as the fuzzer has */

static bool write_seed(const char *path, int command, const struct sl_event *events, size_t count)
{
    uint8_t bytes[SL_TRACE_RECORD_MAX];
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    fputc(command, file);
    struct sl_trace_base base = {0};
    for (size_t i = 0; i < count; i++) fwrite(bytes, 1, sl_trace_encode(&events[i], &base, bytes), file);
    return fclose(file) == 0;
}

int main(int argc, char **argv)
{
    size_t count;
    const struct sl_event *training = training_events((struct training){3, 3, 1, true}, &count);
    if (argc != 2) return 2;
    for (int command = 0; command < COMMANDS; command++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%d", argv[1], command);
        if (!write_seed(path, command, trace_samples, trace_sample_count)) return 1;
        snprintf(path, sizeof(path), "%s/training-%d", argv[1], command);
        if (!write_seed(path, command, training, count)) return 1;
    }
    return 0;
}
