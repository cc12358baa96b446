/* vprintf and __assertfail of the device runtime. Output goes to stdout, in the order of threads. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lane.h"
#include "ops.h"
#include "worker.h"

#define TEXT_MAX 1024u

struct reader {
    struct sc_group *group;
    const struct sc_op *op;
    struct sc_window window;
    uint32_t lane;
};

/* Copies device memory; false, after a fault, if it is not accessible. */
static bool fetch(struct reader *reader, uint64_t address, void *out, uint32_t bytes)
{
    struct sc_op generic = *reader->op;
    generic.access.space = SC_SPACE_GENERIC;
    if (!sc_check_address(reader->group, &generic, &reader->window, address, bytes, reader->lane))
        return false;
    memcpy(out, (const void *)(uintptr_t)address, bytes);
    return true;
}

static bool fetch_text(struct reader *reader, uint64_t address, char text[TEXT_MAX])
{
    uint32_t i = 0;
    do {
        if (!fetch(reader, address + i, text + i, 1)) return false;
    } while (text[i++] && i < TEXT_MAX);
    text[TEXT_MAX - 1] = 0;
    return true;
}

/* The next argument, naturally aligned in the buffer */
static bool next_argument(struct reader *reader, uint64_t *at, uint32_t bytes, uint64_t *value)
{
    *at = (*at + bytes - 1) & ~(uint64_t)(bytes - 1);
    *value = 0;
    bool ok = fetch(reader, *at, value, bytes);
    *at += bytes;
    return ok;
}

/* Prints one conversion, which starts at the '%' at `text`. Returns its length; 0 after a fault. */
static size_t convert(struct reader *reader, const char *text, uint64_t *at)
{
    char format[64], string[TEXT_MAX];
    size_t n = strspn(text + 1, "-+ #0123456789.") + 1;
    size_t size = strspn(text + n, "hlLzjt");
    char kind = text[n + size];
    uint64_t value;
    if (kind == '%' || kind == 0 || n + 6 > sizeof format) {
        putchar('%');
        return kind == '%' ? n + size + 1 : 1;
    }
    bool wide = memchr(text + n, 'l', size) || memchr(text + n, 'z', size) || memchr(text + n, 'j', size) ||
                memchr(text + n, 't', size);
    bool real = strchr("fFeEgGaA", kind) != NULL, pointer = kind == 'p' || kind == 's';
    if (!next_argument(reader, at, real || pointer || wide ? 8 : 4, &value)) return 0;
    memcpy(format, text, n);
    if (kind == 's') {
        snprintf(format + n, sizeof format - n, "s");
        if (!fetch_text(reader, value, string)) return 0;
        printf(format, string);
    } else if (real) {
        snprintf(format + n, sizeof format - n, "%c", kind);
        printf(format, sc_double_of(value));
    } else if (kind == 'c') {
        snprintf(format + n, sizeof format - n, "c");
        printf(format, (int)value);
    } else if (kind == 'p') {
        printf("0x%" PRIx64, value);
    } else if (strchr("diouxX", kind)) {
        snprintf(format + n, sizeof format - n, "ll%c", kind);
        bool is_signed = kind == 'd' || kind == 'i';
        printf(format, wide        ? (long long)value
                       : is_signed ? (long long)(int32_t)value
                                   : (long long)(uint32_t)value);
    }
    return n + size + 1;
}

static uint64_t operand64(const struct sc_group *group, uint32_t place, uint8_t stride, uint32_t lane)
{
    return ((const sc_lane64 *)(const void *)(group->file + place))[stride ? lane : 0];
}

bool sc_run_print(struct sc_group *group, const struct sc_op *op)
{
    uint32_t first = group->first_chunk * SC_CHUNK, end = first + group->chunks * SC_CHUNK;
    for (uint32_t i = first; i < end; i++) {
        struct reader reader = {.group = group, .op = op, .lane = i};
        char text[TEXT_MAX];
        if (!group->use_mask[i]) continue;
        uint64_t at = operand64(group, op->b, op->stride_b, i);
        uint32_t conversions = 0;
        if (!fetch_text(&reader, operand64(group, op->a, op->stride_a, i), text)) return false;
        for (const char *c = text; *c;) {
            if (*c != '%') {
                putchar(*c++);
                continue;
            }
            size_t used = convert(&reader, c, &at);
            if (!used) return false;
            c += used;
            conversions++;
        }
        if (op->d) ((sc_lane32 *)(void *)(group->file + op->d))[i] = conversions;
    }
    fflush(stdout);
    return true;
}

bool sc_run_assert(struct sc_group *group, const struct sc_op *op)
{
    uint32_t lane = group->first_chunk * SC_CHUNK;
    while (!group->use_mask[lane]) lane++;
    struct reader reader = {.group = group, .op = op, .lane = lane};
    char message[TEXT_MAX], file[TEXT_MAX];
    if (!fetch_text(&reader, operand64(group, op->a, op->stride_a, lane), message) ||
        !fetch_text(&reader, operand64(group, op->b, op->stride_b, lane), file))
        return false;
    fprintf(stderr, "%s:%u: Assertion `%s` failed.\n", file,
            ((const sc_lane32 *)(const void *)(group->file + op->c))[op->stride_c ? lane : 0], message);
    group->fault_kind = SC_FAULT_ASSERT;
    group->fault_lane = lane;
    group->fault_address = 0;
    return false;
}
