/* The reader: whole traces, traces cut at every byte, traces with any byte changed, other versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/trace_format.h"
#include "trace_file.h"

enum { PER_BLOCK = 3 };

static struct trace_bytes sample(bool ended)
{
    return trace_build(trace_samples, trace_sample_count, PER_BLOCK, ended);
}

static void assert_starts_like_the_samples(const struct trace_content *content)
{
    assert_true(content->count <= trace_sample_count);
    for (size_t i = 0; i < content->count; i++) {
        assert_int_equal(content->records[i].event.type, trace_samples[i].type);
        assert_int_equal(content->records[i].event.tick, trace_samples[i].tick);
        assert_int_equal(content->records[i].event.time_ns, trace_samples[i].time_ns);
        assert_int_equal(content->records[i].event.a, trace_samples[i].a);
    }
}

static void whole_traces_are_read(void **state)
{
    (void)state;
    struct trace_bytes trace = sample(true);
    struct trace_content content = trace_read_bytes(trace.bytes, trace.size);
    assert_int_equal(content.problem.status, SL_OK);
    assert_int_equal(content.count, trace_sample_count);
    assert_starts_like_the_samples(&content);
    assert_int_equal(content.records[0].thread, 1);
    assert_int_equal(content.records[0].offset, sizeof(struct sluice_trace_header));
    assert_int_equal(content.records[PER_BLOCK].thread, 2);
    assert_string_equal(content.records[2].event.text, "_Z6matmulPKfS0_Pf");
    assert_string_equal(content.header.program, "gpt");
    trace_content_free(&content);
    free(trace.bytes);
}

/* Cut anywhere, the blocks before the cut are all there, and the place is named. */
static void cut_traces_are_read_up_to_the_last_whole_block(void **state)
{
    (void)state;
    struct trace_bytes trace = sample(true);
    size_t before = 0;
    for (size_t cut = 0; cut < trace.size; cut++) {
        uint8_t *part = malloc(cut ? cut : 1);
        memcpy(part, trace.bytes, cut);
        struct trace_content content = trace_read_bytes(part, cut);
        assert_int_equal(content.problem.status, SL_ERR_TRUNCATED);
        assert_true(content.problem.offset <= cut);
        assert_true(content.count >= before);
        assert_true(content.count % PER_BLOCK == 0 || content.count == trace_sample_count);
        assert_starts_like_the_samples(&content);
        before = content.count;
        trace_content_free(&content);
        free(part);
    }
    assert_int_equal(before, trace_sample_count);
    free(trace.bytes);
}

/* No changed bit goes unseen, and nothing from the damaged block is handed out. */
static void changed_bits_are_found(void **state)
{
    (void)state;
    struct trace_bytes trace = sample(true);
    for (size_t bit = 0; bit < trace.size * 8; bit++) {
        trace.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        struct trace_content content = trace_read_bytes(trace.bytes, trace.size);
        assert_int_not_equal(content.problem.status, SL_OK);
        assert_true(content.problem.offset <= bit / 8);
        assert_string_not_equal(content.problem.text, "");
        assert_starts_like_the_samples(&content);
        trace_content_free(&content);
        trace.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(trace.bytes);
}

static void other_major_versions_are_refused(void **state)
{
    (void)state;
    for (int other = -1; other <= 1; other += 2) {
        struct trace_bytes trace = sample(true);
        trace.bytes[offsetof(struct sluice_trace_header, major_version)] =
            (uint8_t)(SLUICE_TRACE_MAJOR + other);
        struct trace_content content = trace_read_bytes(trace.bytes, trace.size);
        assert_int_equal(content.problem.status, SL_ERR_VERSION);
        assert_non_null(strstr(content.problem.text, other < 0 ? "older sluice" : "newer sluice"));
        assert_int_equal(content.count, 0);
        free(trace.bytes);
    }
}

/* A later minor version: a longer header, a record type and fields that are not known. */
static void a_newer_minor_version_is_read(void **state)
{
    (void)state;
    static const struct sl_event events[] = {{.type = SL_EVENT_STALL, .tick = 1, .a = 5},
                                             {.type = 200, .tick = 2, .a = 6},
                                             {.type = SL_EVENT_STALL, .tick = 3, .a = 7}};
    struct trace_bytes old = trace_build(events, 3, 3, true), trace = {.size = old.size + 16};
    size_t header = sizeof(struct sluice_trace_header);
    trace.bytes = calloc(1, trace.size);
    memcpy(trace.bytes, old.bytes, header - 8);
    memcpy(trace.bytes + header + 16, old.bytes + header, old.size - header);
    trace.bytes[offsetof(struct sluice_trace_header, minor_version)] = 9;
    trace.bytes[offsetof(struct sluice_trace_header, header_bytes)] = (uint8_t)(header + 16);
    trace_seal_header(&trace);
    struct trace_content content = trace_read_bytes(trace.bytes, trace.size);
    assert_int_equal(content.problem.status, SL_OK);
    assert_int_equal(content.count, 2);
    assert_int_equal(content.records[1].event.tick, 3);
    assert_int_equal(content.records[1].event.a, 7);
    trace_content_free(&content);
    free(trace.bytes);
    free(old.bytes);
}

/* Blocks whose checksum is right but whose figures lie. */
static void lying_blocks_are_refused(void **state)
{
    (void)state;
    size_t block = sizeof(struct sluice_trace_header),
           count = block + offsetof(struct sluice_trace_block, record_count);
    static const uint8_t counts[] = {0, 1, PER_BLOCK + 1, 255};
    for (size_t i = 0; i < sizeof(counts); i++) {
        struct trace_bytes trace = sample(true);
        trace.bytes[count] = counts[i];
        trace_seal_block(&trace, block);
        struct trace_content content = trace_read_bytes(trace.bytes, trace.size);
        assert_int_equal(content.problem.status, SL_ERR_FORMAT);
        assert_int_equal(content.problem.offset, block);
        trace_content_free(&content);
        free(trace.bytes);
    }
}

/* Everything but the damaged block is read, and how much that held is said. */
static void reading_goes_on_after_damage(void **state)
{
    (void)state;
    struct trace_bytes trace = sample(true);
    size_t offset = sizeof(struct sluice_trace_header), number = 0;
    while (offset < trace.size) {
        struct sluice_trace_block block;
        memcpy(&block, trace.bytes + offset, sizeof(block));
        size_t bytes = sizeof(block) + block.stored_bytes;
        for (size_t at = offset; at < offset + bytes; at++) {
            trace.bytes[at] ^= 0x10;
            bool found;
            struct trace_content content = trace_read_past_damage(trace.bytes, trace.size, &found);
            bool last = offset + bytes == trace.size;
            assert_int_equal(found, !last);
            assert_int_equal(content.problem.status, last ? SL_ERR_FORMAT : SL_OK);
            size_t gap = number * PER_BLOCK;
            assert_int_equal(content.count,
                             last ? trace_sample_count : trace_sample_count - block.record_count + 1);
            if (!last) {
                assert_int_equal(content.records[gap].event.type, SL_EVENT_GAP);
                assert_int_equal(content.records[gap].event.flags, SL_GAP_DAMAGE);
                assert_int_equal(content.records[gap].event.a, block.record_count);
            }
            trace_content_free(&content);
            trace.bytes[at] ^= 0x10;
        }
        offset += bytes;
        number++;
    }
    free(trace.bytes);
}

static void what_is_no_trace_is_said(void **state)
{
    (void)state;
    struct trace_content content = trace_read_bytes("#!/bin/sh\n", 10);
    assert_int_equal(content.problem.status, SL_ERR_FORMAT);
    assert_string_equal(content.problem.text, "not a sluice trace");
    content = trace_read_file("/no/such/file");
    assert_int_equal(content.problem.status, SL_ERR_IO);
    assert_non_null(strstr(content.problem.text, "No such file"));
    content = trace_read_file("/");
    assert_int_equal(content.problem.status, SL_ERR_IO);
    assert_non_null(strstr(content.problem.text, "directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_traces_are_read),
        cmocka_unit_test(cut_traces_are_read_up_to_the_last_whole_block),
        cmocka_unit_test(changed_bits_are_found),
        cmocka_unit_test(other_major_versions_are_refused),
        cmocka_unit_test(a_newer_minor_version_is_read),
        cmocka_unit_test(lying_blocks_are_refused),
        cmocka_unit_test(reading_goes_on_after_damage),
        cmocka_unit_test(what_is_no_trace_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
