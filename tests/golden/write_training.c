/* write_training FILE [marks]: the invented training run as a trace, six layers and four steps of two
 * micro-batches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_file.h"
#include "training.h"

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) return 2;
    struct training training = {
        .layers = 6, .steps = 4, .micro = 2, .marks = argc == 3 && !strcmp(argv[2], "marks")};
    size_t count;
    const struct sl_event *events = training_events(training, &count);
    struct trace_bytes trace = trace_build(events, count, count, true);
    FILE *file = fopen(argv[1], "wb");
    bool good = file && fwrite(trace.bytes, 1, trace.size, file) == trace.size;
    free(trace.bytes);
    return file && fclose(file) == 0 && good ? 0 : 1;
}
