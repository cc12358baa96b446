/* write_seeds FOLDER: the sample records, a training run, and a rank that meets others, as the fuzzer of the
 * commands takes them, once for each command. */
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

enum { STEPS = 40, RECORDS_OF_STEP = 3 };

/* Each step is a kernel and a collective, which is timed. */
static void make_rank(struct sl_event events[STEPS * RECORDS_OF_STEP])
{
    for (uint64_t i = 0; i < STEPS; i++) {
        struct sl_event *of = &events[i * RECORDS_OF_STEP];
        uint64_t at = 1000000 * (i + 1);
        of[0] =
            (struct sl_event){.type = SL_EVENT_LAUNCH, .id = 1, .tick = 2 * i + 1, .time_ns = at, .b = 64};
        of[1] = (struct sl_event){.type = SL_EVENT_LAUNCH,
                                  .flags = SL_LAUNCH_COLLECTIVE,
                                  .id = 1 + (uint32_t)i % 9,
                                  .tick = 2 * i + 2,
                                  .time_ns = at + 5000,
                                  .b = 7 + i % 2,
                                  .c = 4096};
        of[2] = (struct sl_event){
            .type = SL_EVENT_DURATION, .tick = 2 * i + 2, .time_ns = at + 90000, .a = 40000, .b = at + 9000};
    }
}

int main(int argc, char **argv)
{
    static struct sl_event rank[STEPS * RECORDS_OF_STEP];
    make_rank(rank);
    size_t count;
    const struct sl_event *training = training_events((struct training){3, 3, 1, true}, &count);
    if (argc != 2) return 2;
    for (int command = 0; command < COMMANDS; command++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%d", argv[1], command);
        if (!write_seed(path, command, trace_samples, trace_sample_count)) return 1;
        snprintf(path, sizeof(path), "%s/training-%d", argv[1], command);
        if (!write_seed(path, command, training, count)) return 1;
        snprintf(path, sizeof(path), "%s/rank-%d", argv[1], command);
        if (!write_seed(path, command, rank, STEPS * RECORDS_OF_STEP)) return 1;
    }
    return 0;
}
