#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 64 };

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

unsigned sl_edit_distance(const char *one, const char *other)
{
    size_t n = strlen(one), m = strlen(other);
    if (n >= WORD_MAX || m >= WORD_MAX) return WORD_MAX;
    unsigned char rows[3][WORD_MAX];
    unsigned char *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++) above[j] = (unsigned char)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (unsigned char)i;
        for (size_t j = 1; j <= m; j++) {
            int a = tolower((unsigned char)one[i - 1]), b = tolower((unsigned char)other[j - 1]);
            unsigned cost = min3(above[j] + 1u, row[j - 1] + 1u, above[j - 1] + (a != b));
            if (i > 1 && j > 1 && a == tolower((unsigned char)other[j - 2]) &&
                b == tolower((unsigned char)one[i - 2]) && before[j - 2] + 1u < cost)
                cost = before[j - 2] + 1u;
            row[j] = (unsigned char)cost;
        }
        unsigned char *oldest = before;
        before = above, above = row, row = oldest;
    }
    return above[m];
}

bool sl_is_near(const char *word, unsigned distance)
{
    size_t length = strlen(word);
    return distance <= (length < 4 ? 1 : length < 8 ? 2 : 3);
}

const char *sl_bytes_text(uint64_t bytes, char out[SL_BYTES_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;
    while (unit < 6 && bytes >> (10 * (unit + 1))) unit++;
    uint64_t one = (uint64_t)1 << (10 * unit), whole = bytes >> (10 * unit), rest = bytes & (one - 1);
    if (!rest) {
        snprintf(out, SL_BYTES_TEXT, "%llu %s", (unsigned long long)whole, units[unit]);
    } else {
        /* Uses integers because printf's decimal point depends on the locale. A tie in the last digit rounds
         * to even. */
        bool two = whole < 100;
        uint64_t scale = two ? 100 : 10, size = unit < 6 ? one : one >> 10;
        uint64_t part = (unit < 6 ? rest : rest >> 10) * scale, figure = whole * scale + part / size;
        uint64_t left = part % size;
        figure += 2 * left > size || (2 * left == size && figure % 2);
        unsigned before = (unsigned)(figure / scale) % 10000, behind = (unsigned)(figure % scale);
        snprintf(out, SL_BYTES_TEXT, two ? "%u.%02u %s" : "%u.%u %s", before, behind, units[unit]);
    }
    return out;
}
