#include "base/options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/backing.h"
#include "base/log.h"
#include "base/output.h"
#include "base/text.h"

#define ENV_PREFIX "SLUICE_"
#define ENV_OF_TESTS ENV_PREFIX "CACHE" /* where these keep what they download */

const struct sl_option_row sl_option_rows[] = {
#define SL_OPTION(field_, type_, env_, flag_, fallback_, low_, high_, names_, help_)                         \
    {.env = ENV_PREFIX env_,                                                                                 \
     .flag = flag_,                                                                                          \
     .names = names_,                                                                                        \
     .help = help_,                                                                                          \
     .type = TYPE_##type_,                                                                                   \
     .offset = offsetof(struct sl_options, field_),                                                          \
     .fallback = fallback_,                                                                                  \
     .low = low_,                                                                                            \
     .high = high_},
#include "base/options.def"
#undef SL_OPTION
};

/* Checks that the field's C type is the one that stores the row's type. */
#define CTYPE_BYTES uint64_t
#define CTYPE_POWER uint64_t
#define CTYPE_ENUM int
#define CTYPE_INTEGER int
#define CTYPE_NUMBER int
#define CTYPE_STRING const char *
#define CTYPE_RULES const char *
#define SL_OPTION(field_, type_, ...)                                                                        \
    _Static_assert(_Generic(((struct sl_options *)0)->field_, CTYPE_##type_ : 1, default : 0), #field_);
#undef SL_OPTION

/* --- paths */

bool sl_options_absolute(const char *path, char *out, size_t out_bytes)
{
    size_t used = 0, length = strlen(path);
    if (path[0] != '/') {
        if (out_bytes > PATH_MAX) out_bytes = PATH_MAX;
        if (!getcwd(out, out_bytes)) return false;
        /* From the end, so that each % is doubled in place. */
        size_t here = strlen(out), doubled = here;
        for (const char *at = out; *at; at++) doubled += *at == '%';
        if (doubled + 1 >= out_bytes) return false;
        used = doubled;
        while (here) {
            char c = out[--here];
            out[--doubled] = c;
            if (c == '%') out[--doubled] = c;
        }
        out[used++] = '/';
    }
    if (used + length >= out_bytes) return false;
    memcpy(out + used, path, length + 1);
    return true;
}

/* The launchers' variables, innermost launcher first. */
static const char *const rank_variables[] = {"RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                             "PMI_RANK", "MV2_COMM_WORLD_RANK",  "SLURM_PROCID"};
static char rank[12] = "0";
static bool has_rank;

static void note_rank(void)
{
    for (size_t i = 0; i < sizeof(rank_variables) / sizeof(*rank_variables); i++) {
        const char *value = secure_getenv(rank_variables[i]);
        size_t digits = value ? strspn(value, "0123456789") : 0;
        if (!digits || value[digits] || digits >= sizeof(rank)) continue;
        memcpy(rank, value, digits + 1);
        has_rank = true;
        return;
    }
}

bool sl_options_expand(const char *template, char *out, size_t out_bytes)
{
    size_t used = 0;
    for (const char *at = template; *at; at++) {
        char piece[HOST_NAME_MAX + 1] = {*at, 0};
        if (*at == '%' && at[1] && strchr("phr%", at[1])) {
            at++;
            if (*at == 'p') snprintf(piece, sizeof(piece), "%ld", (long)getpid());
            if (*at == 'r') memcpy(piece, rank, sizeof(rank));
            if (*at == 'h' && gethostname(piece, sizeof(piece)) != 0)
                snprintf(piece, sizeof(piece), "localhost");
            piece[sizeof(piece) - 1] = 0;
        }
        size_t length = strlen(piece);
        if (used + length >= out_bytes) return false;
        memcpy(out + used, piece, length);
        used += length;
    }
    if (used >= out_bytes) return false;
    out[used] = 0;
    return true;
}

const char *sl_options_rank(void)
{
    return has_rank ? rank : NULL;
}

/* --- values */

/* Strings are copied because programs overwrite their environment block (setproctitle does). */
static char copies[SL_OPTION_COUNT][PATH_MAX];
static char log_path[PATH_MAX]; /* expanded */

static const struct sl_option_row *row_of_env(const char *env)
{
    for (size_t i = 0; i < SL_OPTION_COUNT; i++)
        if (!strcmp(sl_option_rows[i].env, env)) return &sl_option_rows[i];
    return NULL;
}

bool sl_parse_size(const char *text, uint64_t *out)
{
    const char *at = text;
    unsigned __int128 whole = 0, fraction = 0, scale = 1;
    if (*at < '0' || *at > '9') return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        whole = whole * 10 + (unsigned)(*at - '0');
        if (whole > UINT64_MAX) return false;
    }
    bool fractional = *at == '.';
    if (fractional) {
        const char *first = ++at;
        for (; *at >= '0' && *at <= '9'; at++) {
            if (at - first >= 18) return false;
            fraction = fraction * 10 + (unsigned)(*at - '0');
            scale *= 10;
        }
        if (at == first) return false;
    }
    unsigned shift = 0;
    static const char units[] = "kmgt";
    const char *unit = *at ? strchr(units, *at | 0x20) : NULL;
    if (unit && *unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        at++;
        if ((*at | 0x20) == 'i') at++;
    }
    if ((*at | 0x20) == 'b') at++;
    if (*at || (fractional && !shift)) return false;
    unsigned __int128 bytes = (whole << shift) + (fraction << shift) / scale;
    if (bytes > UINT64_MAX) return false;
    *out = (uint64_t)bytes;
    return true;
}

/* The index of `value` in "a|b|c". */
static bool parse_name(const char *names, const char *value, uint64_t *out)
{
    size_t length = strlen(value);
    for (uint64_t index = 0;; index++) {
        size_t one = strcspn(names, "|");
        if (one == length && !memcmp(names, value, one)) {
            *out = index;
            return true;
        }
        if (!names[one]) return false;
        names += one + 1;
    }
}

static bool parse_integer(const char *value, uint64_t *out)
{
    size_t length = strlen(value);
    if (!length || length > 9 || strspn(value, "0123456789") != length) return false;
    *out = (uint64_t)atoi(value);
    return true;
}

/* Parses everything but strings to a number; of a string, checks that it can be stored. */
static bool parse_value(const struct sl_option_row *row, const char *value, uint64_t *out)
{
    uint64_t number = 0;
    switch (row->type) {
    case TYPE_ENUM:
        return parse_name(row->names, value, out);
    case TYPE_INTEGER:
    case TYPE_NUMBER:
        if (!parse_integer(value, &number)) return false;
        break;
    case TYPE_BYTES:
    case TYPE_POWER:
        if (!sl_parse_size(value, &number)) return false;
        if (row->type == TYPE_POWER && (number & (number - 1))) return false;
        break;
    case TYPE_STRING: {
        char path[PATH_MAX];
        return sl_options_absolute(value, path, sizeof(path));
    }
    case TYPE_RULES: {
        struct sl_backing rules;
        return strlen(value) < PATH_MAX && sl_backing_parse(value, &rules);
    }
    }
    bool automatic = number == 0 && row->fallback == 0;
    if (!automatic && (number < row->low || number > row->high)) return false;
    *out = number;
    return true;
}

static void store(const struct sl_option_row *row, struct sl_options *out, uint64_t number, const char *text)
{
    void *field = (char *)out + row->offset;
    switch (row->type) {
    case TYPE_BYTES:
    case TYPE_POWER:
        *(uint64_t *)field = number;
        break;
    case TYPE_ENUM:
    case TYPE_INTEGER:
    case TYPE_NUMBER:
        *(int *)field = (int)number;
        break;
    case TYPE_STRING: {
        char *copy = copies[row - sl_option_rows];
        *(const char **)field = *text && sl_options_absolute(text, copy, PATH_MAX) ? copy : "";
        break;
    }
    case TYPE_RULES:
        *(const char **)field = strcpy(copies[row - sl_option_rows], text);
        break;
    }
}

/* Sets the row's field. False: the environment's value was refused, and the default is used. */
static bool read_row(const struct sl_option_row *row, struct sl_options *out)
{
    const char *value = secure_getenv(row->env); /* the caller of a setuid program must not choose files */
    uint64_t number = row->fallback;
    bool given = value && *value, good = !given || parse_value(row, value, &number);
    store(row, out, good ? number : row->fallback, given && good ? value : "");
    return good;
}

static void warn_row(const struct sl_option_row *row)
{
    char allowed[128], fallback[64];
    sl_option_describe_allowed(row, allowed, sizeof(allowed));
    sl_option_describe_number(row, row->fallback, fallback, sizeof(fallback));
    sl_log(SL_LOG_WARN, "%s=%.64s is not allowed: it takes %s; using the default, %s", row->env,
           getenv(row->env), allowed, fallback);
}

/* The edits between the variable's name and the row's, or the one that the row's flag would have as a
 * variable: SLUICE_BUDGET means --budget. */
static unsigned distance_to(const struct sl_option_row *row, const char *name)
{
    char of_flag[64];
    snprintf(of_flag, sizeof(of_flag), ENV_PREFIX "%s", row->flag);
    unsigned variable = sl_edit_distance(name, row->env), flag = sl_edit_distance(name, of_flag);
    return flag < variable ? flag : variable;
}

static void warn_unknown(void)
{
    for (char **entry = getauxval(AT_SECURE) ? NULL : environ; entry && *entry; entry++) {
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, ENV_PREFIX, sizeof(ENV_PREFIX) - 1) || length >= 64) continue;
        char name[64];
        memcpy(name, *entry, length);
        name[length] = 0;
        if (row_of_env(name) || !strcmp(name, ENV_OF_TESTS)) continue;
        const struct sl_option_row *best = sl_option_rows;
        unsigned least = UINT_MAX;
        for (size_t i = 0; i < SL_OPTION_COUNT; i++) {
            unsigned distance = distance_to(&sl_option_rows[i], name);
            if (distance < least) least = distance, best = &sl_option_rows[i];
        }
        if (sl_is_near(name + sizeof(ENV_PREFIX) - 1, least))
            sl_log(SL_LOG_WARN, "unknown variable %s is ignored; did you mean %s?", name, best->env);
        else
            sl_log(SL_LOG_WARN, "unknown variable %s is ignored; sluice run --help lists all", name);
    }
}

void sl_options_read(struct sl_options *out)
{
    bool good[SL_OPTION_COUNT];
    note_rank();
    sl_launcher_note();
    for (size_t i = 0; i < SL_OPTION_COUNT; i++) good[i] = read_row(&sl_option_rows[i], out);
    if (*out->log && sl_options_expand(out->log, log_path, sizeof(log_path))) out->log = log_path;
    sl_log_open(out->verbose, out->log);
    sl_file_overwrite(out->overwrite);
    for (size_t i = 0; i < SL_OPTION_COUNT; i++)
        if (!good[i]) warn_row(&sl_option_rows[i]);
    warn_unknown();
}

void sl_options_peek(struct sl_options *out)
{
    sl_launcher_note();
    for (size_t i = 0; i < SL_OPTION_COUNT; i++) read_row(&sl_option_rows[i], out);
}

bool sl_options_overwrite(void)
{
    struct sl_options values;
    return read_row(&sl_option_rows[SL_OPTION_overwrite], &values) && values.overwrite;
}

bool sl_options_ask_frameworks(void)
{
    struct sl_options values;
    return read_row(&sl_option_rows[SL_OPTION_framework], &values) &&
           read_row(&sl_option_rows[SL_OPTION_policy], &values) && values.framework == SL_FRAMEWORK_AUTO &&
           values.policy != SL_POLICY_OFF;
}

bool sl_options_check(const char *env, const char *value, char *allowed, size_t allowed_bytes)
{
    const struct sl_option_row *row = row_of_env(env);
    uint64_t number;
    if (row && *value && parse_value(row, value, &number)) return true;
    if (row)
        sl_option_describe_allowed(row, allowed, allowed_bytes);
    else
        snprintf(allowed, allowed_bytes, "nothing: there is no such variable");
    return false;
}

static struct sl_options in_force;

void sl_options_load(void)
{
    sl_options_read(&in_force);
}

const struct sl_options *sl_options_in_force(void)
{
    return &in_force;
}

/* --- as text */

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
