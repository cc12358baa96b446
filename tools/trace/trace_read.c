#include "tools/trace/trace_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/trace_blocks.h"
#include "trace/trace_format.h"

struct sl_trace_reader {
    bool owns_stream, ended;
    struct sl_trace_base base;
    sl_tick last_tick;
    uint64_t last_time_ns;
    uint32_t at, records_left; /* position in the block */
    char name[SL_TRACE_NAME_MAX + 1];
    struct sl_trace_blocks blocks; /* last: it is large and not zeroed */
};

enum sl_status sl_trace_reader_open_stream(FILE *stream, struct sl_trace_reader **out,
                                           struct sl_trace_problem *problem)
{
    struct sl_trace_reader *reader = malloc(sizeof(*reader));
    if (!reader) return sl_trace_set_problem(problem, SL_ERR_NO_MEMORY, 0, "no memory to read it");
    memset(reader, 0, offsetof(struct sl_trace_reader, blocks));
    enum sl_status status = sl_trace_blocks_open(&reader->blocks, stream);
    if (status != SL_OK) {
        *problem = reader->blocks.problem;
        sl_trace_reader_close(reader);
        return status;
    }
    *out = reader;
    return SL_OK;
}

enum sl_status sl_trace_reader_open(const char *path, struct sl_trace_reader **out,
                                    struct sl_trace_problem *problem)
{
    FILE *stream = fopen(path, "rbe");
    if (!stream) return sl_trace_set_problem(problem, SL_ERR_IO, 0, "cannot be opened: %s", strerror(errno));
    enum sl_status status = sl_trace_reader_open_stream(stream, out, problem);
    if (status == SL_OK)
        (*out)->owns_stream = true;
    else
        fclose(stream);
    return status;
}

void sl_trace_reader_close(struct sl_trace_reader *reader)
{
    if (!reader) return;
    if (reader->owns_stream) fclose(reader->blocks.stream);
    sl_trace_blocks_close(&reader->blocks);
    free(reader);
}

const struct sluice_trace_header *sl_trace_reader_header(const struct sl_trace_reader *reader)
{
    return &reader->blocks.header;
}

const struct sl_trace_problem *sl_trace_reader_problem(const struct sl_trace_reader *reader)
{
    return &reader->blocks.problem;
}

/* Goes to the next block with records. */
static bool next_block(struct sl_trace_reader *reader)
{
    if (sl_trace_blocks_next(&reader->blocks) != SL_OK) return false;
    reader->base = (struct sl_trace_base){0};
    reader->at = 0;
    reader->records_left = reader->blocks.block.record_count;
    return true;
}

static bool damaged(struct sl_trace_reader *reader)
{
    /* The checksum was right, so the block was written like this. */
    sl_trace_set_problem(&reader->blocks.problem, SL_ERR_FORMAT, reader->blocks.block_offset,
                         "damaged: a block whose records do not fill it");
    return false;
}

static bool tell_lost(struct sl_trace_reader *reader, struct sl_trace_record *out)
{
    out->event = (struct sl_event){.type = SL_EVENT_GAP,
                                   .flags = (uint8_t)reader->blocks.why,
                                   .tick = reader->last_tick + 1,
                                   .time_ns = reader->last_time_ns,
                                   .a = reader->blocks.lost};
    out->thread = 0;
    out->offset = reader->blocks.block_offset;
    reader->blocks.lost = 0;
    return true;
}

bool sl_trace_reader_next(struct sl_trace_reader *reader, struct sl_trace_record *out)
{
    struct sl_trace_blocks *blocks = &reader->blocks;
    while (!reader->ended && blocks->problem.status == SL_OK) {
        if (reader->records_left == 0) {
            if (reader->at != blocks->block.payload_bytes) return damaged(reader);
            if (!next_block(reader)) return false;
            if (blocks->lost) return tell_lost(reader, out);
            continue;
        }
        size_t taken = sl_trace_decode(blocks->payload + reader->at, blocks->block.payload_bytes - reader->at,
                                       &reader->base, &out->event, reader->name);
        if (!taken) return damaged(reader);
        reader->at += (uint32_t)taken;
        reader->records_left--;
        reader->last_tick = out->event.tick;
        reader->last_time_ns = out->event.time_ns;
        reader->ended = out->event.type == SLUICE_TRACE_END;
        if (reader->ended || !sl_trace_type(out->event.type)) continue;
        out->thread = blocks->block.thread;
        out->offset = blocks->block_offset;
        return true;
    }
    return false;
}

bool sl_trace_reader_resume(struct sl_trace_reader *reader)
{
    if (reader->ended || !sl_trace_blocks_resume(&reader->blocks)) return false;
    reader->at = reader->records_left = reader->blocks.block.payload_bytes = 0;
    return true;
}
