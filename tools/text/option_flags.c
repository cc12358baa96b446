#include "tools/text/option_flags.h"

#include <string.h>

const char *sl_options_env_for_flag(const char *flag, bool *takes_value)
{
    for (size_t i = 0; i < SL_OPTION_COUNT; i++) {
        if (strcmp(sl_option_rows[i].flag, flag)) continue;
        *takes_value = sl_option_rows[i].type != TYPE_INTEGER;
        return sl_option_rows[i].env;
    }
    return NULL;
}

const char *sl_options_flag(size_t index)
{
    return index < SL_OPTION_COUNT ? sl_option_rows[index].flag : NULL;
}

bool sl_options_is_path(const char *env)
{
    for (size_t i = 0; i < SL_OPTION_COUNT; i++)
        if (!strcmp(sl_option_rows[i].env, env)) return sl_option_rows[i].type == TYPE_STRING;
    return false;
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
