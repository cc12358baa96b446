#include "trace_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "trace_format.h"

struct sl_trace_reader {
    FILE *stream;
    bool owns_stream, ended;
    struct sluice_trace_header header;
    struct sl_trace_problem problem;
    uint64_t offset;       /* of the next byte to read from the stream */
    uint64_t block_offset; /* of the block in `payload` */
    struct sluice_trace_block block;
    struct sl_trace_base base;
    uint32_t at, records_left; /* in the block */
    char name[SL_TRACE_NAME_MAX + 1];
    uint8_t payload[SLUICE_TRACE_BLOCK_MAX];
};

__attribute__((format(printf, 4, 5))) static enum sl_status
set_problem(struct sl_trace_problem *problem, enum sl_status status, uint64_t offset, const char *format, ...)
{
    problem->status = status;
    problem->offset = offset;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof(problem->text), format, arguments);
    va_end(arguments);
    return status;
}

/* Reads up to `bytes`; fewer at the end of the file. SL_ERR_IO is told in the problem. */
static enum sl_status read_bytes(struct sl_trace_reader *reader, void *to, size_t bytes, size_t *got)
{
    errno = 0;
    *got = fread(to, 1, bytes, reader->stream);
    reader->offset += *got;
    if (*got == bytes || !ferror(reader->stream)) return SL_OK;
    return set_problem(&reader->problem, SL_ERR_IO, reader->offset, "cannot be read: %s", strerror(errno));
}

static enum sl_status read_header(struct sl_trace_reader *reader)
{
    struct sl_trace_problem *problem = &reader->problem;
    struct sluice_trace_header *header = &reader->header;
    uint8_t *raw = reader->payload; /* room for a longer header of a later minor version */
    size_t got;
    enum sl_status status = read_bytes(reader, raw, sizeof(*header), &got);
    if (status != SL_OK) return status;
    size_t magic_bytes = sizeof(header->magic);
    if (got == 0) return set_problem(problem, SL_ERR_TRUNCATED, 0, "is empty");
    if (memcmp(raw, SLUICE_TRACE_MAGIC, got < magic_bytes ? got : magic_bytes) != 0)
        return set_problem(problem, SL_ERR_FORMAT, 0, "not a sluice trace");
    memcpy(header, raw, got);
    if (got >= offsetof(struct sluice_trace_header, header_bytes) &&
        header->major_version > SLUICE_TRACE_MAJOR)
        return set_problem(
            problem, SL_ERR_VERSION, 8,
            "written by a newer sluice (format %u.%u; this one reads up to %u): update sluice to read it",
            header->major_version, header->minor_version, SLUICE_TRACE_MAJOR);
    if (got < sizeof(*header)) return set_problem(problem, SL_ERR_TRUNCATED, got, "ends within its header");
    if (header->major_version == 0 || header->header_bytes < sizeof(*header) ||
        header->header_bytes > SLUICE_TRACE_HEADER_MAX)
        return set_problem(problem, SL_ERR_FORMAT, 8, "its header is damaged");
    size_t more = header->header_bytes - sizeof(*header);
    status = read_bytes(reader, raw + sizeof(*header), more, &got);
    if (status != SL_OK) return status;
    if (got < more) return set_problem(problem, SL_ERR_TRUNCATED, 12, "ends within its header");
    memcpy(&header->checksum, raw + header->header_bytes - sizeof(header->checksum),
           sizeof(header->checksum));
    if (sl_trace_header_checksum(raw, header->header_bytes) != header->checksum)
        return set_problem(problem, SL_ERR_FORMAT, 0, "its header is damaged (wrong checksum)");
    header->program[sizeof(header->program) - 1] = 0;
    return SL_OK;
}

enum sl_status sl_trace_reader_open_stream(FILE *stream, struct sl_trace_reader **out,
                                           struct sl_trace_problem *problem)
{
    struct sl_trace_reader *reader = malloc(sizeof(*reader));
    if (!reader) return set_problem(problem, SL_ERR_NO_MEMORY, 0, "no memory to read it");
    /* All but the big buffer, which is written before it is read. */
    memset(reader, 0, offsetof(struct sl_trace_reader, payload));
    reader->stream = stream;
    enum sl_status status = read_header(reader);
    if (status != SL_OK) {
        *problem = reader->problem;
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
    if (!stream) return set_problem(problem, SL_ERR_IO, 0, "cannot be opened: %s", strerror(errno));
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
    if (reader->owns_stream) fclose(reader->stream);
    free(reader);
}

const struct sluice_trace_header *sl_trace_reader_header(const struct sl_trace_reader *reader)
{
    return &reader->header;
}

const struct sl_trace_problem *sl_trace_reader_problem(const struct sl_trace_reader *reader)
{
    return &reader->problem;
}

static enum sl_status next_block(struct sl_trace_reader *reader)
{
    struct sl_trace_problem *problem = &reader->problem;
    struct sluice_trace_block *block = &reader->block;
    uint64_t offset = reader->offset;
    size_t got;
    enum sl_status status = read_bytes(reader, block, sizeof(*block), &got);
    if (status != SL_OK) return status;
    if (got == 0)
        return set_problem(problem, SL_ERR_TRUNCATED, offset,
                           "no end record: the program was killed, or is still running");
    if (got < sizeof(*block)) return set_problem(problem, SL_ERR_TRUNCATED, offset, "ends within a block");
    if (block->magic != SLUICE_TRACE_BLOCK_MAGIC || block->payload_bytes > SLUICE_TRACE_BLOCK_MAX)
        return set_problem(problem, SL_ERR_FORMAT, offset, "damaged: no block where one must be");
    status = read_bytes(reader, reader->payload, block->payload_bytes, &got);
    if (status != SL_OK) return status;
    if (got < block->payload_bytes)
        return set_problem(problem, SL_ERR_TRUNCATED, offset, "ends within a block");
    if (sl_trace_block_checksum(block, reader->payload) != block->checksum)
        return set_problem(problem, SL_ERR_FORMAT, offset, "damaged: a block with a wrong checksum");
    reader->block_offset = offset;
    reader->base = (struct sl_trace_base){0};
    reader->at = 0;
    reader->records_left = block->record_count;
    return SL_OK;
}

bool sl_trace_reader_next(struct sl_trace_reader *reader, struct sl_trace_record *out)
{
    if (reader->ended || reader->problem.status != SL_OK) return false;
    for (;;) {
        while (reader->records_left == 0) {
            if (reader->at != reader->block.payload_bytes) goto damaged;
            if (next_block(reader) != SL_OK) return false;
        }
        size_t taken = sl_trace_decode(reader->payload + reader->at, reader->block.payload_bytes - reader->at,
                                       &reader->base, &out->event, reader->name);
        if (!taken) goto damaged;
        reader->at += (uint32_t)taken;
        reader->records_left--;
        if (out->event.type == SLUICE_TRACE_END) {
            reader->ended = true;
            return false;
        }
        if (!sl_trace_type(out->event.type)) continue;
        out->thread = reader->block.thread;
        out->offset = reader->block_offset;
        return true;
    }
damaged:
    /* The checksum was right, so this was written so. */
    set_problem(&reader->problem, SL_ERR_FORMAT, reader->block_offset,
                "damaged: a block whose records do not fill it");
    return false;
}
