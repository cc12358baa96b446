/* The wire format of Protocol Buffers: the examples of its own description, and lengths that need more bytes
 * than were set aside for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/export/protobuf.h"

#define assert_bytes(message, ...)                                                                           \
    do {                                                                                                     \
        const uint8_t expected[] = {__VA_ARGS__};                                                            \
        assert_false((message)->no_memory);                                                                  \
        assert_int_equal((message)->bytes, sizeof(expected));                                                \
        assert_memory_equal((message)->at, expected, sizeof(expected));                                      \
    } while (0)

static void examples_of_the_description(void **state)
{
    (void)state;
    struct protobuf message = {0};
    protobuf_number(&message, 1, 150);
    assert_bytes(&message, 0x08, 0x96, 0x01);
    message.bytes = 0;
    protobuf_text(&message, 2, "testing");
    assert_bytes(&message, 0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67);
    message.bytes = 0;
    size_t inner = protobuf_begin(&message, 3);
    protobuf_number(&message, 1, 150);
    protobuf_end(&message, inner);
    assert_bytes(&message, 0x1a, 0x03, 0x08, 0x96, 0x01);
    message.bytes = 0;
    protobuf_signed(&message, 1, -2);
    assert_bytes(&message, 0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
    protobuf_free(&message);
}

static void large_fields_and_numbers(void **state)
{
    (void)state;
    struct protobuf message = {0};
    protobuf_number(&message, 87, UINT64_MAX);
    assert_bytes(&message, 0xb8, 0x05, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
    message.bytes = 0;
    protobuf_number(&message, 1, 0);
    protobuf_text(&message, 2, "");
    assert_bytes(&message, 0x08, 0x00, 0x12, 0x00);
    protobuf_free(&message);
}

/* A length of 127 takes one byte, of 128 two, of 16384 three; what is inside moves behind it, at every level.
 */
static void lengths_grow(void **state)
{
    (void)state;
    static char text[20001];
    static const struct {
        size_t text, length_bytes;
    } cases[] = {{125, 1}, {126, 2}, {200, 2}, {16380, 2}, {16381, 3}, {20000, 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct protobuf message = {0};
        memset(text, 'x', cases[i].text);
        text[cases[i].text] = 0;
        size_t outer = protobuf_begin(&message, 1), inner = protobuf_begin(&message, 1);
        protobuf_text(&message, 2, text);
        protobuf_end(&message, inner);
        protobuf_number(&message, 3, 7);
        protobuf_end(&message, outer);
        size_t own = 1 + (cases[i].text < 128 ? 1 : cases[i].text < 16384 ? 2 : 3) + cases[i].text;
        size_t at = 1;
        uint64_t length = 0;
        for (unsigned shift = 0;; shift += 7) {
            length |= (uint64_t)(message.at[at] & 0x7f) << shift;
            if (!(message.at[at++] & 0x80)) break;
        }
        assert_int_equal(at + length, message.bytes);
        assert_int_equal(length, 1 + cases[i].length_bytes + own + 2);
        assert_int_equal(message.at[at], 0x0a);
        assert_int_equal(message.at[at + 1 + cases[i].length_bytes], 0x12);
        const uint8_t last[] = {0x18, 0x07};
        assert_memory_equal(message.at + message.bytes - 2, last, 2);
        assert_int_equal(message.at[message.bytes - 3], 'x');
        protobuf_free(&message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_the_description),
        cmocka_unit_test(large_fields_and_numbers),
        cmocka_unit_test(lengths_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
