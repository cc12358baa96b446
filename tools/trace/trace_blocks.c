#include "tools/trace/trace_blocks.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "trace/trace_format.h"

#define WINDOW_LOG_MOST 18 /* our frames have no larger window */

enum sl_status sl_trace_set_problem(struct sl_trace_problem *problem, enum sl_status status, uint64_t offset,
                                    const char *format, ...)
{
    problem->status = status;
    problem->offset = offset;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof(problem->text), format, arguments);
    va_end(arguments);
    return status;
}

/* Reads up to `bytes` bytes, fewer at the end of the file. Records SL_ERR_IO in the problem. */
static enum sl_status read_bytes(struct sl_trace_blocks *blocks, void *to, size_t bytes, size_t *got)
{
    errno = 0;
    *got = fread(to, 1, bytes, blocks->stream);
    blocks->offset += *got;
    if (*got == bytes || !ferror(blocks->stream)) return SL_OK;
    return sl_trace_set_problem(&blocks->problem, SL_ERR_IO, blocks->offset, "cannot be read: %s",
                                strerror(errno));
}

static bool parts_are_sound(const struct sluice_trace_header *header)
{
    uint64_t bytes, end;
    if (!header->segments) return true;
    return header->segments <= SLUICE_TRACE_SEGMENTS_MAX && header->tail_offset >= header->header_bytes &&
           header->segment_bytes &&
           !__builtin_mul_overflow(header->segment_bytes, header->segments, &bytes) &&
           !__builtin_add_overflow(header->tail_offset, bytes, &end) && end <= INT64_MAX;
}

static enum sl_status seek(struct sl_trace_blocks *blocks, uint64_t offset)
{
    if (fseeko(blocks->stream, (off_t)offset, SEEK_SET) != 0)
        return sl_trace_set_problem(&blocks->problem, SL_ERR_IO, offset, "cannot be read: %s",
                                    strerror(errno));
    blocks->offset = offset;
    return SL_OK;
}

static enum sl_status read_header(struct sl_trace_blocks *blocks)
{
    struct sl_trace_problem *problem = &blocks->problem;
    struct sluice_trace_header *header = &blocks->header;
    uint8_t *raw = blocks->payload; /* has room for a longer header of a later minor version */
    size_t got;
    enum sl_status status = read_bytes(blocks, raw, sizeof(*header), &got);
    if (status != SL_OK) return status;
    size_t magic_bytes = sizeof(header->magic);
    if (got == 0) return sl_trace_set_problem(problem, SL_ERR_TRUNCATED, 0, "is empty");
    if (memcmp(raw, SLUICE_TRACE_MAGIC, got < magic_bytes ? got : magic_bytes) != 0)
        return sl_trace_set_problem(problem, SL_ERR_FORMAT, 0, SL_TRACE_NO_TRACE);
    memcpy(header, raw, got);
    bool versioned = got >= offsetof(struct sluice_trace_header, header_bytes) && header->major_version;
    if (versioned && header->major_version != SLUICE_TRACE_MAJOR)
        return sl_trace_set_problem(problem, SL_ERR_VERSION, 8,
                                    "written by %s sluice (format %u.%u; this one reads %u.x)",
                                    header->major_version > SLUICE_TRACE_MAJOR ? "a newer" : "an older",
                                    header->major_version, header->minor_version, SLUICE_TRACE_MAJOR);
    if (got < sizeof(*header))
        return sl_trace_set_problem(problem, SL_ERR_TRUNCATED, got, "ends within its header");
    if (!versioned || header->header_bytes < sizeof(*header) ||
        header->header_bytes > SLUICE_TRACE_HEADER_MAX)
        return sl_trace_set_problem(problem, SL_ERR_FORMAT, 8, "its header is damaged");
    size_t more = header->header_bytes - sizeof(*header);
    status = read_bytes(blocks, raw + sizeof(*header), more, &got);
    if (status != SL_OK) return status;
    if (got < more) return sl_trace_set_problem(problem, SL_ERR_TRUNCATED, 12, "ends within its header");
    memcpy(&header->checksum, raw + header->header_bytes - sizeof(header->checksum),
           sizeof(header->checksum));
    if (sl_trace_header_checksum(raw, header->header_bytes) != header->checksum)
        return sl_trace_set_problem(problem, SL_ERR_FORMAT, 0, "its header is damaged (wrong checksum)");
    if (!parts_are_sound(header))
        return sl_trace_set_problem(problem, SL_ERR_FORMAT, 112, "its header is damaged");
    header->program[sizeof(header->program) - 1] = 0;
    return SL_OK;
}

static int by_lap(const void *one, const void *other)
{
    const struct sl_trace_part *a = one, *b = other;
    return a->lap < b->lap ? -1 : a->lap > b->lap;
}

/* Lists the first part and the segments that were begun, in the order of their laps. */
static enum sl_status find_parts(struct sl_trace_blocks *blocks)
{
    const struct sluice_trace_header *header = &blocks->header;
    uint64_t begin = blocks->offset;
    blocks->parts[0] = (struct sl_trace_part){begin, header->segments ? header->tail_offset : UINT64_MAX, 0};
    blocks->part_count = 1;
    if (!header->segments) return SL_OK;
    off_t bytes = fseeko(blocks->stream, 0, SEEK_END) == 0 ? ftello(blocks->stream) : -1;
    if (bytes < 0)
        return sl_trace_set_problem(&blocks->problem, SL_ERR_IO, 0, "cannot be read: %s", strerror(errno));
    for (uint32_t i = 0; i < header->segments; i++) {
        struct sluice_trace_block block;
        uint64_t at = header->tail_offset + i * header->segment_bytes;
        if (at >= (uint64_t)bytes) break;
        size_t got;
        enum sl_status status = seek(blocks, at);
        if (status == SL_OK) status = read_bytes(blocks, &block, sizeof(block), &got);
        if (status) return status;
        if (got < sizeof(block) || block.magic != SLUICE_TRACE_BLOCK_MAGIC || !block.lap ||
            (block.lap - 1) % header->segments != i)
            continue;
        blocks->parts[blocks->part_count++] =
            (struct sl_trace_part){at, at + header->segment_bytes, block.lap};
    }
    qsort(blocks->parts + 1, blocks->part_count - 1, sizeof(*blocks->parts), by_lap);
    return seek(blocks, begin);
}

enum sl_status sl_trace_blocks_open(struct sl_trace_blocks *blocks, FILE *stream)
{
    /* Zeroes all but the large buffers, which are written before they are read. */
    memset(blocks, 0, offsetof(struct sl_trace_blocks, stored));
    blocks->stream = stream;
    blocks->decompressor = ZSTD_createDCtx();
    if (!blocks->decompressor)
        return sl_trace_set_problem(&blocks->problem, SL_ERR_NO_MEMORY, 0, "no memory to read it");
    enum sl_status status = read_header(blocks);
    return status == SL_OK ? find_parts(blocks) : status;
}

void sl_trace_blocks_close(struct sl_trace_blocks *blocks)
{
    ZSTD_freeDCtx(blocks->decompressor);
}

/* Whether the current part has no block at its next place, as expected at its end. */
static bool part_ends(const struct sl_trace_blocks *blocks, const struct sluice_trace_block *block,
                      size_t got)
{
    const struct sl_trace_part *part = &blocks->parts[blocks->part];
    if (part->lap) /* an earlier lap's data may follow: any bytes */
        return got < sizeof(*block) || block->magic != SLUICE_TRACE_BLOCK_MAGIC || block->lap != part->lap;
    static const struct sluice_trace_block hole;
    return blocks->part + 1 < blocks->part_count && got == sizeof(*block) && !memcmp(block, &hole, got);
}

/* Reads the block at the stream's position if there is one (*found); else the part ends there. */
static enum sl_status read_block(struct sl_trace_blocks *blocks, bool *found)
{
    struct sl_trace_problem *problem = &blocks->problem;
    struct sluice_trace_block *block = &blocks->block;
    const struct sl_trace_part *part = &blocks->parts[blocks->part];
    uint64_t offset = blocks->offset;
    size_t got;
    *found = false;
    if (part->end - offset < sizeof(*block)) return SL_OK;
    enum sl_status status = read_bytes(blocks, block, sizeof(*block), &got);
    if (status != SL_OK || got == 0 || part_ends(blocks, block, got)) return status;
    if (got < sizeof(*block))
        return sl_trace_set_problem(problem, SL_ERR_TRUNCATED, offset, "ends within a block");
    if (block->magic != SLUICE_TRACE_BLOCK_MAGIC || block->payload_bytes > SLUICE_TRACE_BLOCK_MAX ||
        block->stored_bytes > block->payload_bytes || block->stored_bytes > part->end - blocks->offset)
        return sl_trace_set_problem(problem, SL_ERR_FORMAT, offset, "damaged: no block where one must be");
    status = read_bytes(blocks, blocks->stored, block->stored_bytes, &got);
    if (status != SL_OK) return status;
    if (got < block->stored_bytes)
        return sl_trace_set_problem(problem, SL_ERR_TRUNCATED, offset, "ends within a block");
    if (sl_trace_block_checksum(block, blocks->stored) != block->checksum)
        return sl_trace_set_problem(problem, SL_ERR_FORMAT, offset, "damaged: a block with a wrong checksum");
    *found = true;
    return SL_OK;
}

static enum sl_status unpack(struct sl_trace_blocks *blocks)
{
    const struct sluice_trace_block *block = &blocks->block;
    blocks->next_in_group = 0;
    if (block->stored_bytes == block->payload_bytes) {
        memcpy(blocks->payload, blocks->stored, block->payload_bytes);
        return SL_OK;
    }
    if (!block->group) {
        ZSTD_DCtx_reset(blocks->decompressor, ZSTD_reset_session_only);
        ZSTD_DCtx_setParameter(blocks->decompressor, ZSTD_d_windowLogMax, WINDOW_LOG_MOST);
    }
    ZSTD_inBuffer in = {blocks->stored, block->stored_bytes, 0};
    ZSTD_outBuffer out = {blocks->payload, block->payload_bytes, 0};
    while (in.pos < in.size) {
        size_t before = in.pos + out.pos;
        if (ZSTD_isError(ZSTD_decompressStream(blocks->decompressor, &out, &in)) ||
            in.pos + out.pos == before)
            break;
    }
    if (in.pos < in.size || out.pos < out.size)
        return sl_trace_set_problem(&blocks->problem, SL_ERR_FORMAT, blocks->block_offset,
                                    "damaged: a block that is not compressed as it says");
    blocks->next_in_group = block->group + 1;
    return SL_OK;
}

/* Counts the records between the last block and this one. They may be missing only because a later lap
 * overwrote their segments or because damage was skipped. */
static enum sl_status check_order(struct sl_trace_blocks *blocks)
{
    const struct sluice_trace_block *block = &blocks->block;
    const struct sl_trace_part *part = &blocks->parts[blocks->part];
    uint64_t missing = block->records_before - blocks->records_seen;
    bool first = blocks->block_offset == part->at,
         may = blocks->found_again || (first && part->lap > part[-1].lap + 1);
    if (block->records_before < blocks->records_seen || (missing && !may))
        return sl_trace_set_problem(&blocks->problem, SL_ERR_FORMAT, blocks->block_offset,
                                    "damaged: a block that does not follow the one before");
    blocks->lost = missing;
    blocks->why = blocks->found_again ? SL_GAP_DAMAGE : SL_GAP_LIMIT;
    blocks->found_again = false;
    blocks->records_seen = block->records_before + block->record_count;
    return SL_OK;
}

/* Whether the block can be decompressed by itself or after the last block. */
static bool follows(const struct sl_trace_blocks *blocks)
{
    uint32_t group = blocks->block.group;
    return !group || (group == blocks->next_in_group && !blocks->found_again);
}

enum sl_status sl_trace_blocks_next(struct sl_trace_blocks *blocks)
{
    for (bool found;;) {
        blocks->block_offset = blocks->offset;
        enum sl_status status = read_block(blocks, &found);
        if (status) return status;
        if (found && follows(blocks)) break;
        if (found && blocks->found_again) continue; /* lost together with the block that it continues */
        if (found)
            return sl_trace_set_problem(&blocks->problem, SL_ERR_FORMAT, blocks->block_offset,
                                        "damaged: a block that continues what is not there");
        if (blocks->part + 1 == blocks->part_count)
            return sl_trace_set_problem(&blocks->problem, SL_ERR_TRUNCATED, blocks->block_offset,
                                        "no end record: the program was killed, or is still running");
        status = seek(blocks, blocks->parts[++blocks->part].at);
        if (status) return status;
    }
    enum sl_status status = check_order(blocks);
    return status == SL_OK ? unpack(blocks) : status;
}

/* Finds the next place from `from` on, before `end`, with a block's first bytes. False: there is none. */
static bool find_magic(struct sl_trace_blocks *blocks, uint64_t from, uint64_t end, uint64_t *out)
{
    static const uint32_t magic = SLUICE_TRACE_BLOCK_MAGIC;
    size_t got;
    while (end - from >= sizeof(struct sluice_trace_block)) {
        size_t wanted = end - from < sizeof(blocks->payload) ? (size_t)(end - from) : sizeof(blocks->payload);
        if (seek(blocks, from) != SL_OK || read_bytes(blocks, blocks->payload, wanted, &got) != SL_OK ||
            got < sizeof(magic))
            return false;
        const uint8_t *found = memmem(blocks->payload, got, &magic, sizeof(magic));
        if (found) {
            *out = from + (uint64_t)(found - blocks->payload);
            return true;
        }
        from += got - (sizeof(magic) - 1);
        if (got < wanted) return false;
    }
    return false;
}

bool sl_trace_blocks_resume(struct sl_trace_blocks *blocks)
{
    struct sl_trace_problem problem = blocks->problem;
    if (problem.status != SL_ERR_FORMAT || !blocks->part_count) return false;
    uint64_t at = problem.offset;
    for (bool found = false; blocks->part < blocks->part_count;) {
        const struct sl_trace_part *part = &blocks->parts[blocks->part];
        blocks->problem = (struct sl_trace_problem){0};
        if (!find_magic(blocks, at + 1, part->end, &at)) {
            if (++blocks->part < blocks->part_count) at = blocks->parts[blocks->part].at - 1;
            continue;
        }
        if (seek(blocks, at) != SL_OK || read_block(blocks, &found) != SL_OK || !found) continue;
        if (blocks->block.lap != part->lap || blocks->block.records_before < blocks->records_seen) continue;
        blocks->problem = (struct sl_trace_problem){0};
        blocks->found_again = true;
        return seek(blocks, at) == SL_OK;
    }
    blocks->problem = problem;
    blocks->part = blocks->part_count - 1;
    return false;
}
