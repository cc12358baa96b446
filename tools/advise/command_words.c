#include "tools/advise/command_words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool has_word(const char *text, const char *word, size_t length)
{
    while (*text) {
        size_t own = strcspn(text, " ");
        if (own == length && !memcmp(text, word, length)) return true;
        text += own + strspn(text + own, " ");
    }
    return false;
}

void other_words(const char *own, const char *other, char *out, size_t bytes)
{
    const char *option = NULL; /* the word before, if it is an option that both have */
    size_t option_length = 0, used = 0;
    if (bytes) *out = 0;
    while (*other) {
        size_t length = strcspn(other, " ");
        bool known = has_word(own, other, length);
        if (!known) {
            size_t needed = length + (option ? option_length + 1 : 0) + (used ? 1 : 0);
            if (used + needed + 1 > bytes) return;
            int more = snprintf(out + used, bytes - used, "%s%.*s%s%.*s", used ? " " : "",
                                option ? (int)option_length : 0, option ? option : "", option ? " " : "",
                                (int)length, other);
            if (more > 0) used += (size_t)more;
        }
        option = known && *other == '-' ? other : NULL;
        option_length = length;
        other += length + strspn(other + length, " ");
    }
}
