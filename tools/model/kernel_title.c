#include "tools/model/kernel_title.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/model/demangle.h"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Removes all qualifiers: "at::native::Add" becomes "Add". Those that follow a bracket stay, as in
 * "A<int>::B". */
static void drop_namespaces(char *text)
{
    static const char anonymous[] = "(anonymous namespace)::";
    size_t length = 0;
    for (const char *at = text; *at;) {
        bool word = length && is_word(text[length - 1]);
        if (!strncmp(at, anonymous, sizeof(anonymous) - 1)) {
            at += sizeof(anonymous) - 1;
        } else if (at[0] == ':' && at[1] == ':' && word) {
            while (length && is_word(text[length - 1])) length--;
            at += 2;
        } else {
            text[length++] = *at++;
        }
    }
    text[length] = 0;
}

/* Cuts the parameters off, and the return type; both are outside of <>. */
static void keep_name(char *text)
{
    size_t begin = 0, end = 0, depth = 0;
    for (; text[end] && (depth || text[end] != '('); end++) {
        if (text[end] == '<') depth++;
        if (text[end] == '>' && depth) depth--;
        if (text[end] == ' ' && !depth) begin = end + 1;
    }
    if (begin >= end) return;
    memmove(text, text + begin, end - begin);
    text[end - begin] = 0;
}

/* The next identifier of a mangled name from *at on, which stands behind its length; NULL: there is none. */
static const char *next_identifier(const char *name, const char **at, size_t *length)
{
    while (**at) {
        const char *digits = *at;
        if (!isdigit((unsigned char)*digits)) {
            ++*at;
            continue;
        }
        size_t wanted = strtoul(digits, (char **)at, 10);
        /* Numbers of other kinds: a template's argument (Li4E), something named before (S1_, T1_). */
        bool literal = digits >= name + 2 && digits[-2] == 'L' && islower((unsigned char)digits[-1]);
        bool again = digits > name && strchr("ST", digits[-1]) && **at == '_';
        if (literal || again || wanted == 0 || wanted > strlen(*at) || isdigit((unsigned char)**at)) continue;
        const char *found = *at;
        *at += wanted;
        *length = wanted;
        return found;
    }
    return NULL;
}

/* Traces cut long names, which then cannot be demangled: makes a list of the identifiers in them. The
 * function's name is the last before the arguments of its template. False: out of memory. */
static bool list_identifiers(const char *name, char **out)
{
    size_t bytes, length = 0, next_length = 0, listed = 0;
    const char *at = name, *identifier = next_identifier(name, &at, &length);
    FILE *to = identifier ? open_memstream(out, &bytes) : NULL;
    if (!to) return !identifier;
    while (*at != 'I' && *at != 'E') {
        const char *next = next_identifier(name, &at, &next_length);
        if (!next) break;
        identifier = next;
        length = next_length;
    }
    fprintf(to, "%.*s", (int)length, identifier);
    while ((identifier = next_identifier(name, &at, &length)))
        fprintf(to, "%s%.*s", listed++ ? ", " : "<", (int)length, identifier);
    fputs(listed ? ", ..." : "...", to);
    return fclose(to) == 0;
}

char *kernel_title(const char *name)
{
    char *text = demangle(name);
    if (!text && !strncmp(name, "_Z", 2) && (!list_identifiers(name, &text) || text)) return text;
    if (!text) return strdup(name);
    sl_defuse(text);
    drop_namespaces(text);
    keep_name(text);
    return text;
}
