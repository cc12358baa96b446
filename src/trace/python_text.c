#include "trace/python_text.h"

#include <string.h>

/* Offsets in a str object (Include/cpython/unicodeobject.h). */
enum { LENGTH = 16, STATE = 32 };
enum { KIND_SHIFT = 2, KIND_MASK = 7, COMPACT = 1 << 5, ASCII = 1 << 6 };

/* The characters follow the object's head, which has lost three members with 3.12. */
static size_t data_offset(unsigned minor, bool ascii)
{
    if (minor < 12) return ascii ? 48 : 72;
    return ascii ? 40 : 56;
}

static uint32_t character_at(const char *data, unsigned kind, uint64_t index)
{
    uint32_t character = 0;
    memcpy(&character, data + index * kind, kind);
    return character;
}

/* Encodes one character; returns its bytes. Surrogates stand for undecodable bytes and become ?. */
static size_t encode(uint32_t character, char out[4])
{
    bool bad = character < 0x20 || character == 0x7f || (character >= 0xd800 && character < 0xe000) ||
               character > 0x10ffff;
    if (bad) character = '?';
    size_t bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = bytes; i-- > 1; character >>= 6) out[i] = (char)(0x80 | (character & 0x3f));
    out[0] = (char)(leads[bytes] | character);
    return bytes;
}

void sl_python_text(const char *object, unsigned minor, char *out, size_t room)
{
    uint64_t length;
    uint32_t state;
    memcpy(&length, object + LENGTH, sizeof length);
    memcpy(&state, object + STATE, sizeof state);
    unsigned kind = state >> KIND_SHIFT & KIND_MASK;
    if (!(state & COMPACT) || (kind != 1 && kind != 2 && kind != 4)) return;
    const char *data = object + data_offset(minor, state & ASCII);
    size_t used = strlen(out);
    for (uint64_t i = 0; i < length; i++) {
        char bytes[4];
        size_t count = encode(character_at(data, kind, i), bytes);
        if (used + count >= room) break;
        memcpy(out + used, bytes, count);
        used += count;
    }
    out[used] = 0;
}

/* --- the location table: entries for runs of code units. The first byte of an entry has its highest bit set,
 * which no other byte has. */

enum { FIRST_BYTE = 0x80, ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };

/* A number in groups of six bits, the lowest first; bit 6 says that another follows. The lowest bit is its
 * sign. */
static int64_t signed_number(const uint8_t *table, size_t bytes, size_t at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; at < bytes && shift < 42; at++, shift += 6) {
        value |= (uint64_t)(table[at] & 0x3f) << shift;
        if (!(table[at] & 0x40)) break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

uint32_t sl_python_line(const uint8_t *table, size_t bytes, uint32_t first_line, uint64_t offset)
{
    int64_t line = first_line;
    uint64_t covered = 0;
    for (size_t at = 0; at < bytes;) {
        unsigned code = table[at] >> 3 & 15;
        covered += (table[at] & 7u) + 1;
        if (code == NO_COLUMNS || code == LONG)
            line += signed_number(table, bytes, at + 1);
        else if (code >= ONE_LINE_0 && code <= ONE_LINE_2)
            line += code - ONE_LINE_0;
        if (offset < covered) return code == NO_LOCATION || line < 0 || line > INT32_MAX ? 0 : (uint32_t)line;
        for (at++; at < bytes && !(table[at] & FIRST_BYTE); at++) {
        }
    }
    return 0;
}
