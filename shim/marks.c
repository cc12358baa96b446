#include "marks.h"

#include <string.h>

#include "core/runtime.h"
#include "sluice/marks.h"

const char *sl_mark_name(const char *name, char out[SL_MARK_NAME])
{
    size_t bytes = name ? strnlen(name, SL_MARK_NAME) : 0;
    if (bytes == SL_MARK_NAME) /* do not cut within a UTF-8 character */
        for (bytes--; bytes && ((unsigned char)name[bytes] & 0xc0) == 0x80; bytes--) {
        }
    if (bytes) memcpy(out, name, bytes);
    out[bytes] = 0;
    return out;
}

static size_t encode(uint32_t character, char out[4])
{
    if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) character = '?';
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    size_t bytes = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = bytes - 1; i; i--, character >>= 6) out[i] = (char)(0x80 | (character & 0x3f));
    out[0] = (char)((0xf00 >> bytes & 0xff) | character);
    return bytes;
}

const char *sl_mark_wide_name(const wchar_t *name, char out[SL_MARK_NAME])
{
    size_t used = 0;
    for (; name && *name; name++) {
        char character[4];
        size_t bytes = encode((uint32_t)*name, character);
        if (used + bytes >= SL_MARK_NAME) break;
        memcpy(out + used, character, bytes);
        used += bytes;
    }
    out[used] = 0;
    return out;
}

/* Called by sluice/marks.h. */
__attribute__((visibility("default"))) void sluice_mark_v1(int kind, const char *name)
{
    char cut[SL_MARK_NAME];
    if (!sl_runtime_tracing() || kind < SL_MARK_PUSH || kind > SL_MARK_MOMENT) return;
    sl_runtime_mark((enum sl_mark_kind)kind, SL_MARKS_SLUICE, 0, 0, sl_mark_name(name, cut));
}

__attribute__((visibility("default"))) int sluice_save_profile_v1(void)
{
    return sl_runtime_save_profile() == SL_OK ? 0 : -1;
}
