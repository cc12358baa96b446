/* Blocks of a trace file whose figures lie though their checksums are right, and files with a limit, block by
 * block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "tools/trace/trace_blocks.h"
#include "trace/trace_format.h"
#include "trace_file.h"

enum { HEADER = sizeof(struct sluice_trace_header), HEAD = sizeof(struct sluice_trace_block) };
enum { FILE_BYTES = 1 << 16 };

static uint8_t file[FILE_BYTES];
static size_t file_bytes;
static struct sl_trace_blocks blocks;
static FILE *stream;

static void seal(void)
{
    struct trace_bytes trace = {file, file_bytes};
    trace_seal_header(&trace);
}

static struct sluice_trace_header *header_of_file(void)
{
    return (struct sluice_trace_header *)file;
}

/* A file without blocks. */
static int begin(void **state)
{
    (void)state;
    struct trace_bytes trace = trace_build(NULL, 0, 1, false);
    memset(file, 0, sizeof(file));
    memcpy(file, trace.bytes, trace.size);
    file_bytes = trace.size;
    free(trace.bytes);
    return file_bytes == HEADER ? 0 : -1;
}

/* Writes the block at `at` with a checksum that is right, whatever else is. Returns where it ends. */
static size_t put(size_t at, struct sluice_trace_block block, const void *stored)
{
    assert_true(at + HEAD + block.stored_bytes <= FILE_BYTES);
    block.magic = SLUICE_TRACE_BLOCK_MAGIC;
    block.checksum = sl_trace_block_checksum(&block, stored);
    memcpy(file + at, &block, HEAD);
    memcpy(file + at + HEAD, stored, block.stored_bytes);
    size_t end = at + HEAD + block.stored_bytes;
    if (end > file_bytes) file_bytes = end;
    return end;
}

/* A plain block of four bytes for each of its records. */
static size_t put_plain(size_t at, uint64_t before, uint32_t records, uint32_t lap)
{
    static const uint8_t payload[64];
    return put(at,
               (struct sluice_trace_block){.stored_bytes = 4 * records,
                                           .payload_bytes = 4 * records,
                                           .record_count = records,
                                           .thread = 1,
                                           .lap = lap,
                                           .records_before = before},
               payload);
}

static enum sl_status open_file(void)
{
    stream = fmemopen(file, file_bytes, "rb");
    assert_non_null(stream);
    return sl_trace_blocks_open(&blocks, stream);
}

static int end(void **state)
{
    (void)state;
    if (!stream) return 0;
    sl_trace_blocks_close(&blocks);
    fclose(stream);
    stream = NULL;
    return 0;
}

static void assert_next(uint64_t offset, uint64_t records, uint64_t lost)
{
    assert_int_equal(sl_trace_blocks_next(&blocks), SL_OK);
    assert_int_equal(blocks.block_offset, offset);
    assert_int_equal(blocks.block.record_count, records);
    assert_int_equal(blocks.lost, lost);
}

static void assert_problem(enum sl_status status, uint64_t offset, const char *text)
{
    assert_int_equal(sl_trace_blocks_next(&blocks), status);
    assert_int_equal(blocks.problem.status, status);
    assert_int_equal(blocks.problem.offset, offset);
    assert_non_null(strstr(blocks.problem.text, text));
}

static void blocks_come_one_after_the_other(void **state)
{
    (void)state;
    size_t second = put_plain(HEADER, 0, 3, 0), end_of_all = put_plain(second, 3, 2, 0);
    assert_int_equal(open_file(), SL_OK);
    assert_string_equal(blocks.header.program, "gpt");
    assert_next(HEADER, 3, 0);
    assert_next(second, 2, 0);
    assert_problem(SL_ERR_TRUNCATED, end_of_all, "no end record");
}

/* A program's name is text from outside: what has no end is given one. */
static void the_programs_name_ends(void **state)
{
    (void)state;
    memset(header_of_file()->program, 'p', sizeof(header_of_file()->program));
    seal();
    assert_int_equal(open_file(), SL_OK);
    assert_int_equal(strlen(blocks.header.program), sizeof(blocks.header.program) - 1);
}

static void parts_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t segments;
        uint64_t tail_offset, segment_bytes;
    } wrong[] = {
        {SLUICE_TRACE_SEGMENTS_MAX + 1, 4096, 4096},
        {UINT32_MAX, 4096, 4096},
        {1, HEADER - 1, 4096},
        {1, 4096, 0},
        {4, 4096, UINT64_MAX / 2},
        {1, UINT64_MAX - 10, 4096},
        {1, 4096, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        header_of_file()->segments = wrong[i].segments;
        header_of_file()->tail_offset = wrong[i].tail_offset;
        header_of_file()->segment_bytes = wrong[i].segment_bytes;
        seal();
        assert_int_equal(open_file(), SL_ERR_FORMAT);
        assert_non_null(strstr(blocks.problem.text, "header"));
        assert_false(sl_trace_blocks_resume(&blocks)); /* there is nothing to go on with */
        end(NULL);
    }
    header_of_file()->segments = SLUICE_TRACE_SEGMENTS_MAX;
    header_of_file()->segment_bytes = 4096;
    seal();
    assert_int_equal(open_file(), SL_OK);
}

/* What a block says of its size is not believed before it was compared with what there is room for. */
static void sizes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct sluice_trace_block wrong[] = {
        {.stored_bytes = 64, .payload_bytes = 32, .record_count = 1},
        {.stored_bytes = 64, .payload_bytes = SLUICE_TRACE_BLOCK_MAX + 1, .record_count = 1},
        {.stored_bytes = 64, .payload_bytes = UINT32_MAX, .record_count = 1},
    };
    static const uint8_t bytes[64];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        begin(NULL);
        put(HEADER, wrong[i], bytes);
        assert_int_equal(open_file(), SL_OK);
        assert_problem(SL_ERR_FORMAT, HEADER, "no block where one must be");
        end(NULL);
    }
}

/* Compresses as the sink does: several blocks in one frame; returns the bytes of this one. */
static size_t flushed(ZSTD_CCtx *compressor, const void *payload, size_t bytes, uint8_t *stored, size_t room)
{
    ZSTD_inBuffer in = {payload, bytes, 0};
    ZSTD_outBuffer out = {stored, room, 0};
    assert_int_equal(ZSTD_compressStream2(compressor, &out, &in, ZSTD_e_flush), 0);
    return out.pos;
}

static void put_compressed(size_t at, uint32_t payload_bytes, int window_log, size_t cut)
{
    static uint8_t payload[4096], stored[8192];
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    assert_non_null(compressor);
    assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_windowLog, window_log)));
    size_t bytes = flushed(compressor, payload, sizeof(payload), stored, sizeof(stored));
    ZSTD_freeCCtx(compressor);
    put(at,
        (struct sluice_trace_block){
            .stored_bytes = (uint32_t)(bytes - cut), .payload_bytes = payload_bytes, .record_count = 1},
        stored);
}

/* Neither more nor less comes out than the block says, and no more memory is taken than a block of ours
 * needs. */
static void blocks_that_are_not_compressed_as_they_say_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t payload_bytes;
        int window_log;
        size_t cut;
        bool good;
    } cases[] = {
        {4096, 18, 0, true},
        {4097, 18, 0, false},
        {4096, 18, 3, false},
        {4096, 20, 0, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        begin(NULL);
        put_compressed(HEADER, cases[i].payload_bytes, cases[i].window_log, cases[i].cut);
        assert_int_equal(open_file(), SL_OK);
        if (cases[i].good)
            assert_next(HEADER, 1, 0);
        else
            assert_problem(SL_ERR_FORMAT, HEADER, "not compressed as it says");
        end(NULL);
    }
}

static void blocks_that_do_not_follow_are_refused(void **state)
{
    (void)state;
    static const uint64_t before[] = {2, 4, 0, UINT64_MAX};
    for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
        begin(NULL);
        size_t second = put_plain(HEADER, 0, 3, 0);
        put_plain(second, before[i], 2, 0);
        assert_int_equal(open_file(), SL_OK);
        assert_next(HEADER, 3, 0);
        assert_problem(SL_ERR_FORMAT, second, "does not follow");
        end(NULL);
    }
    begin(NULL);
    static const uint8_t bytes[8];
    put(HEADER,
        (struct sluice_trace_block){.stored_bytes = 4, .payload_bytes = 8, .record_count = 1, .group = 1},
        bytes);
    assert_int_equal(open_file(), SL_OK);
    assert_problem(SL_ERR_FORMAT, HEADER, "continues what is not there");
}

/* Two segments of which the first was written anew: what comes is in the order of the laps. */
static size_t limited_file(void)
{
    const size_t tail = 1024, segment = 512;
    header_of_file()->segments = 2;
    header_of_file()->tail_offset = tail;
    header_of_file()->segment_bytes = segment;
    seal();
    put_plain(HEADER, 0, 3, 0);
    size_t at = put_plain(tail + segment, 7, 4, 2);
    put_plain(at, 11, 1, 2);
    at = put_plain(tail, 12, 5, 3);
    put_plain(at, 99, 1, 1); /* what is left of the lap before */
    return tail;
}

static void segments_come_in_the_order_of_their_laps(void **state)
{
    (void)state;
    size_t tail = limited_file();
    assert_int_equal(open_file(), SL_OK);
    assert_next(HEADER, 3, 0);
    assert_next(tail + 512, 4, 4); /* the first lap, of which nothing is left */
    assert_int_equal(blocks.why, SL_GAP_LIMIT);
    assert_int_equal(sl_trace_blocks_next(&blocks), SL_OK);
    assert_int_equal(blocks.lost, 0);
    assert_next(tail, 5, 0);
    assert_int_equal(sl_trace_blocks_next(&blocks), SL_ERR_TRUNCATED);
}

/* Records may be missing where a lap is; not where one lap ends and the next begins. */
static void laps_that_follow_have_nothing_between_them(void **state)
{
    (void)state;
    size_t tail = limited_file();
    put_plain(tail, 13, 5, 3);
    assert_int_equal(open_file(), SL_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(sl_trace_blocks_next(&blocks), SL_OK);
    assert_problem(SL_ERR_FORMAT, tail, "does not follow");
    end(NULL);
    limited_file();
    put_plain(tail + 512, 2, 4, 2); /* fewer before it than were read */
    assert_int_equal(open_file(), SL_OK);
    assert_next(HEADER, 3, 0);
    assert_problem(SL_ERR_FORMAT, tail + 512, "does not follow");
}

/* A block in a segment that cannot be its own, or that reaches beyond it, is none of it. */
static void blocks_stay_in_their_segment(void **state)
{
    (void)state;
    size_t tail = limited_file();
    put_plain(tail, 3, 5, 2); /* the lap of the other segment */
    assert_int_equal(open_file(), SL_OK);
    assert_int_equal(blocks.part_count, 2);
    end(NULL);
    begin(NULL);
    limited_file();
    static const uint8_t bytes[1024];
    put(tail,
        (struct sluice_trace_block){
            .stored_bytes = 512, .payload_bytes = 512, .record_count = 1, .lap = 3, .records_before = 12},
        bytes);
    assert_int_equal(open_file(), SL_OK);
    assert_next(HEADER, 3, 0);
    assert_problem(SL_ERR_FORMAT, tail, "no block where one must be");
}

static void damage_is_passed_over_and_counted(void **state)
{
    (void)state;
    size_t second = put_plain(HEADER, 0, 3, 0), third = put_plain(second, 3, 2, 0),
           last = put_plain(third, 5, 4, 0);
    file[second + HEAD] ^= 1;
    assert_int_equal(open_file(), SL_OK);
    assert_false(sl_trace_blocks_resume(&blocks)); /* nothing is damaged yet */
    assert_next(HEADER, 3, 0);
    assert_problem(SL_ERR_FORMAT, second, "wrong checksum");
    assert_true(sl_trace_blocks_resume(&blocks));
    assert_next(third, 4, 2);
    assert_int_equal(blocks.why, SL_GAP_DAMAGE);
    assert_problem(SL_ERR_TRUNCATED, last, "no end record");
    assert_false(sl_trace_blocks_resume(&blocks));
    end(NULL);
    file[third + HEAD] ^= 1; /* nothing whole is left */
    assert_int_equal(open_file(), SL_OK);
    assert_next(HEADER, 3, 0);
    assert_problem(SL_ERR_FORMAT, second, "wrong checksum");
    assert_false(sl_trace_blocks_resume(&blocks));
    assert_int_equal(blocks.problem.status, SL_ERR_FORMAT); /* the problem stands */
    assert_int_equal(blocks.problem.offset, second);
}

/* An older block is no later one, wherever it was copied to; and a first part's is none of a lap. */
static void only_a_later_block_is_gone_on_with(void **state)
{
    (void)state;
    size_t second = put_plain(HEADER, 0, 3, 0), third = put_plain(second, 3, 2, 0);
    size_t fourth = put_plain(third, 0, 3, 0), fifth = put_plain(fourth, 5, 1, 4);
    put_plain(fifth, 6, 1, 0);
    file[second + HEAD] ^= 1;
    assert_int_equal(open_file(), SL_OK);
    assert_next(HEADER, 3, 0);
    assert_problem(SL_ERR_FORMAT, second, "wrong checksum");
    assert_true(sl_trace_blocks_resume(&blocks));
    assert_next(fifth, 1, 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(blocks_come_one_after_the_other),
        TEST(the_programs_name_ends),
        TEST(parts_that_cannot_be_are_refused),
        TEST(sizes_that_cannot_be_are_refused),
        TEST(blocks_that_are_not_compressed_as_they_say_are_refused),
        TEST(blocks_that_do_not_follow_are_refused),
        TEST(segments_come_in_the_order_of_their_laps),
        TEST(laps_that_follow_have_nothing_between_them),
        TEST(blocks_stay_in_their_segment),
        TEST(damage_is_passed_over_and_counted),
        TEST(only_a_later_block_is_gone_on_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
