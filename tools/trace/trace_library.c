/* Exports the reader under the names of the installed library. */
#include <stdlib.h>
#include <string.h>

#include "sluice/trace_reader.h"
#include "tools/trace/trace_read.h"

#define EXPORT __attribute__((visibility("default")))

struct sluice_trace_reader {
    struct sl_trace_reader *reader;
    struct sluice_trace_problem problem;
};

static struct sluice_trace_problem public_problem(const struct sl_trace_problem *problem)
{
    static const enum sluice_trace_status statuses[] = {[SL_OK] = SLUICE_TRACE_OK,
                                                        [SL_ERR_TRUNCATED] = SLUICE_TRACE_CUT,
                                                        [SL_ERR_FORMAT] = SLUICE_TRACE_DAMAGED,
                                                        [SL_ERR_VERSION] = SLUICE_TRACE_FOREIGN,
                                                        [SL_ERR_IO] = SLUICE_TRACE_UNREADABLE,
                                                        [SL_ERR_NO_MEMORY] = SLUICE_TRACE_UNREADABLE};
    struct sluice_trace_problem out = {.status = statuses[problem->status], .offset = problem->offset};
    memcpy(out.text, problem->text, sizeof(out.text));
    return out;
}
_Static_assert(sizeof(((struct sl_trace_problem *)0)->text) ==
                   sizeof(((struct sluice_trace_problem *)0)->text),
               "copied as it is");

EXPORT enum sluice_trace_status sluice_trace_open(const char *path, struct sluice_trace_reader **out,
                                                  struct sluice_trace_problem *problem)
{
    struct sl_trace_problem why = {.status = SL_ERR_NO_MEMORY, .text = "no memory to read it"};
    struct sluice_trace_reader *reader = calloc(1, sizeof(*reader));
    if (reader && sl_trace_reader_open(path, &reader->reader, &why) == SL_OK) {
        *out = reader;
        return SLUICE_TRACE_OK;
    }
    free(reader);
    *problem = public_problem(&why);
    if (!strcmp(why.text, SL_TRACE_NO_TRACE)) problem->status = SLUICE_TRACE_FOREIGN;
    return problem->status;
}

EXPORT void sluice_trace_close(struct sluice_trace_reader *reader)
{
    if (!reader) return;
    sl_trace_reader_close(reader->reader);
    free(reader);
}

EXPORT const struct sluice_trace_header *sluice_trace_file_header(const struct sluice_trace_reader *reader)
{
    return sl_trace_reader_header(reader->reader);
}

EXPORT bool sluice_trace_next(struct sluice_trace_reader *reader, struct sluice_trace_record *out)
{
    struct sl_trace_record record;
    if (!sl_trace_reader_next(reader->reader, &record)) {
        reader->problem = public_problem(sl_trace_reader_problem(reader->reader));
        return false;
    }
    const struct sl_event *event = &record.event;
    *out = (struct sluice_trace_record){.type = event->type,
                                        .flags = event->flags,
                                        .id = event->id,
                                        .tick = event->tick,
                                        .time_ns = event->time_ns,
                                        .a = event->a,
                                        .b = event->b,
                                        .c = event->c,
                                        .d = event->d,
                                        .text = event->text,
                                        .thread = record.thread,
                                        .offset = record.offset};
    return true;
}

EXPORT const struct sluice_trace_problem *sluice_trace_problem(const struct sluice_trace_reader *reader)
{
    return &reader->problem;
}

EXPORT bool sluice_trace_resume(struct sluice_trace_reader *reader)
{
    bool found = sl_trace_reader_resume(reader->reader);
    reader->problem = public_problem(sl_trace_reader_problem(reader->reader));
    return found;
}
