#include "base/options_text.h"

#include <limits.h>
#include <string.h>

#include "base/option_table.h"
#include "base/text.h"

void sl_option_describe_allowed(const struct sl_option_row *row, char *out, size_t bytes)
{
    char low[SL_BYTES_TEXT], high[SL_BYTES_TEXT];
    switch (row->type) {
    case TYPE_ENUM:
        snprintf(out, bytes, "%s", row->names);
        break;
    case TYPE_INTEGER:
    case TYPE_NUMBER:
        snprintf(out, bytes, "%llu to %llu", (unsigned long long)row->low, (unsigned long long)row->high);
        break;
    case TYPE_POWER:
        snprintf(out, bytes, "a power of two from %s to %s, or 0", sl_bytes_text(row->low, low),
                 sl_bytes_text(row->high, high));
        break;
    case TYPE_BYTES:
        if (row->low) {
            snprintf(out, bytes, "a size from %s such as 8G or 1.5GiB, or 0", sl_bytes_text(row->low, low));
        } else {
            snprintf(out, bytes, "a size such as 8G or 1.5GiB");
        }
        break;
    case TYPE_STRING:
        snprintf(out, bytes, "a path shorter than %d bytes", PATH_MAX);
        break;
    case TYPE_RULES:
        snprintf(out, bytes,
                 "site:HASH=BACKING or from:SIZE=BACKING (pinned, device or unified), or a list of them "
                 "separated by commas");
        break;
    }
}

/* Returns the start of name number `index` in "a|b|c" and stores its length. */
static const char *enum_name(const struct sl_option_row *row, uint64_t index, int *length)
{
    const char *name = row->names;
    for (; index; index--) name += strcspn(name, "|") + 1;
    *length = (int)strcspn(name, "|");
    return name;
}

void sl_option_describe_number(const struct sl_option_row *row, uint64_t number, char *out, size_t bytes)
{
    char text[SL_BYTES_TEXT];
    int length = 0;
    switch (row->type) {
    case TYPE_ENUM: {
        const char *name = enum_name(row, number, &length);
        snprintf(out, bytes, "%.*s", length, name);
        break;
    }
    case TYPE_INTEGER:
    case TYPE_NUMBER:
        snprintf(out, bytes, "%llu", (unsigned long long)number);
        break;
    case TYPE_BYTES:
    case TYPE_POWER:
        snprintf(out, bytes, "%s", number || row->fallback ? sl_bytes_text(number, text) : "automatic");
        break;
    case TYPE_STRING:
    case TYPE_RULES:
        snprintf(out, bytes, "none");
        break;
    }
}

static const char markdown_head[] = /* clang-format off */
    "# Options\n\n"
    "Every option is an environment variable that `libsluice.so` reads once, when it is loaded; `sluice run` sets the\n"
    "variable for its command. A size takes the suffixes K, M, G and T (powers of 1024: `8G`, `1.5GiB`, `512m`); without a\n"
    "suffix it is in bytes. If a value is not allowed, sluice prints one warning line and uses the default; `sluice run`\n"
    "refuses the value. A variable that is set but empty counts as not set. A file name is relative to the folder in which\n"
    "the program started. Programs with the rights of another user (setuid, capabilities) ignore all options.\n\n"
    "| variable | flag of `sluice run` | values | default | meaning |\n"
    "| --- | --- | --- | --- | --- |\n"; /* clang-format on */

void sl_options_print(FILE *to, bool markdown)
{
    if (markdown) fputs(markdown_head, to);
    for (size_t i = 0; i < SL_OPTION_COUNT; i++) {
        const struct sl_option_row *row = &sl_option_rows[i];
        char allowed[128], fallback[64];
        sl_option_describe_allowed(row, allowed, sizeof(allowed));
        sl_option_describe_number(row, row->fallback, fallback, sizeof(fallback));
        if (markdown) {
            fprintf(to, "| `%s` | `--%s` | ", row->env, row->flag);
            /* A | would end the cell. */
            for (const char *at = allowed; *at; at++) fputs(*at == '|' ? ", " : (char[]){*at, 0}, to);
            fprintf(to, " | %s | %s |\n", fallback, row->help);
        } else {
            bool takes_value = row->type != TYPE_INTEGER;
            fprintf(to, "  --%s%s%s\n      %s\n      %s: %s; default: %s\n", row->flag,
                    takes_value ? " " : "", takes_value ? row->names : "", row->help, row->env, allowed,
                    fallback);
        }
    }
}

void sl_options_print_values(FILE *to, const struct sl_options *values)
{
    for (size_t i = 0; i < SL_OPTION_COUNT; i++) {
        const struct sl_option_row *row = &sl_option_rows[i];
        const void *field = (const char *)values + row->offset;
        char text[64] = "";
        const char *shown = text;
        switch (row->type) {
        case TYPE_BYTES:
        case TYPE_POWER:
            sl_option_describe_number(row, *(const uint64_t *)field, text, sizeof(text));
            break;
        case TYPE_ENUM:
        case TYPE_INTEGER:
        case TYPE_NUMBER:
            sl_option_describe_number(row, (uint64_t) * (const int *)field, text, sizeof(text));
            break;
        case TYPE_STRING:
        case TYPE_RULES:
            shown = *(const char *const *)field;
            if (!*shown) shown = "none";
            break;
        }
        fprintf(to, "%-22s %s\n", row->env, shown);
    }
}
