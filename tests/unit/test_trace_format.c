/* Records as bytes: what is encoded is decoded, and damaged bytes are refused within their bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/trace_format.h"
#include "trace_file.h"

static void assert_same_event(const struct sl_event *one, const struct sl_event *other)
{
    assert_int_equal(one->type, other->type);
    assert_int_equal(one->flags, other->flags);
    assert_int_equal(one->id, other->id);
    assert_int_equal(one->tick, other->tick);
    assert_int_equal(one->time_ns, other->time_ns);
    assert_int_equal(one->a, other->a);
    assert_int_equal(one->b, other->b);
    assert_int_equal(one->c, other->c);
    assert_int_equal(one->d, other->d);
    assert_int_equal(!one->text, !other->text);
    if (one->text) assert_string_equal(one->text, other->text);
}

static void records_survive(void **state)
{
    (void)state;
    uint8_t bytes[16 * SL_TRACE_RECORD_MAX];
    size_t size = 0, at = 0;
    struct sl_trace_base base = {0};
    for (size_t i = 0; i < trace_sample_count; i++) {
        size_t one = sl_trace_encode(&trace_samples[i], &base, bytes + size);
        assert_in_range(one, 3, SL_TRACE_RECORD_MAX);
        size += one;
    }
    base = (struct sl_trace_base){0};
    for (size_t i = 0; i < trace_sample_count; i++) {
        struct sl_event event;
        char name[SL_TRACE_NAME_MAX + 1];
        size_t one = sl_trace_decode(bytes + at, size - at, &base, &event, name);
        assert_int_not_equal(one, 0);
        assert_same_event(&event, &trace_samples[i]);
        at += one;
    }
    assert_int_equal(at, size);
}

static void frequent_records_are_small(void **state)
{
    (void)state;
    uint8_t bytes[SL_TRACE_RECORD_MAX];
    struct sl_trace_base base = {.tick = 100000, .time_ns = 1000000000};
    struct sl_event access = {
        .type = SL_EVENT_ACCESS, .id = 300, .tick = 100000, .time_ns = 1000000000, .b = SL_MIB};
    assert_true(sl_trace_encode(&access, &base, bytes) <= 14);
}

static void names_are_cut_and_may_be_missing(void **state)
{
    (void)state;
    char text[2 * SL_TRACE_NAME_MAX], name[SL_TRACE_NAME_MAX + 1];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = 0;
    uint8_t bytes[SL_TRACE_RECORD_MAX];
    struct sl_trace_base base = {0};
    struct sl_event event = {.type = SL_EVENT_KERNEL, .id = UINT32_MAX, .tick = UINT64_MAX / 2, .text = text};
    size_t size = sl_trace_encode(&event, &base, bytes);
    assert_true(size <= SL_TRACE_RECORD_MAX);
    base = (struct sl_trace_base){0};
    assert_int_equal(sl_trace_decode(bytes, size, &base, &event, name), size);
    assert_int_equal(strlen(event.text), SL_TRACE_NAME_MAX);

    event = (struct sl_event){.type = SL_EVENT_KERNEL, .id = 5};
    base = (struct sl_trace_base){0};
    size = sl_trace_encode(&event, &base, bytes);
    base = (struct sl_trace_base){0};
    assert_int_equal(sl_trace_decode(bytes, size, &base, &event, name), size);
    assert_string_equal(event.text, "");
}

/* Exact-size heap copies, so that the address sanitizer sees a read past the end. */
static void cut_records_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < trace_sample_count; i++) {
        uint8_t bytes[SL_TRACE_RECORD_MAX];
        struct sl_trace_base base = {0};
        size_t size = sl_trace_encode(&trace_samples[i], &base, bytes);
        for (size_t cut = 0; cut < size; cut++) {
            uint8_t *part = malloc(cut ? cut : 1);
            memcpy(part, bytes, cut);
            struct sl_event event;
            char name[SL_TRACE_NAME_MAX + 1];
            base = (struct sl_trace_base){0};
            assert_int_equal(sl_trace_decode(part, cut, &base, &event, name), 0);
            free(part);
        }
    }
}

static void impossible_varints_are_refused(void **state)
{
    (void)state;
    static const uint8_t too_long[] = {4,    0,    11,   0x80, 0x80, 0x80, 0x80,
                                       0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0};
    static const uint8_t too_large[] = {4, 0, 10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
    static const uint8_t large_id[] = {4, 0, 7, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x10};
    static const uint8_t large_body[] = {4, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    struct sl_event event;
    struct sl_trace_base base = {0};
    char name[SL_TRACE_NAME_MAX + 1];
    assert_int_equal(sl_trace_decode(too_long, sizeof(too_long), &base, &event, name), 0);
    assert_int_equal(sl_trace_decode(too_large, sizeof(too_large), &base, &event, name), 0);
    assert_int_equal(sl_trace_decode(large_id, sizeof(large_id), &base, &event, name), 0);
    assert_int_equal(sl_trace_decode(large_body, sizeof(large_body), &base, &event, name), 0);
}

static void later_fields_are_skipped(void **state)
{
    (void)state;
    static const uint8_t longer[] = {SL_EVENT_STALL, 0, 8, 2, 4, 0, 9, 1, 0, 77, 77};
    struct sl_event event;
    struct sl_trace_base base = {0};
    char name[SL_TRACE_NAME_MAX + 1];
    assert_int_equal(sl_trace_decode(longer, sizeof(longer), &base, &event, name), sizeof(longer));
    assert_int_equal(event.tick, 1);
    assert_int_equal(event.time_ns, 2);
    assert_int_equal(event.a, 9);
    assert_int_equal(event.b, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_survive),
        cmocka_unit_test(frequent_records_are_small),
        cmocka_unit_test(names_are_cut_and_may_be_missing),
        cmocka_unit_test(cut_records_are_refused),
        cmocka_unit_test(impossible_varints_are_refused),
        cmocka_unit_test(later_fields_are_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
