#include "base/text.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define NAME_ROOM 64
#define LEAST_TOKEN 12 /* characters behind a well-known beginning */
#define HEX_KEY 40     /* digits of some services' keys, and of commits */

struct line {
    char *out;
    size_t used, room;
};

static void put(struct line *line, const char *text, size_t bytes)
{
    if (bytes > line->room - 1 - line->used) bytes = line->room - 1 - line->used;
    memcpy(line->out + line->used, text, bytes);
    line->used += bytes;
}

/* --- names */

static bool is_name_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text), end_bytes = strlen(end);
    return bytes >= end_bytes && !strcmp(text + bytes - end_bytes, end);
}

static bool is_one_of(const char *text, const char *const *words, bool (*matches)(const char *, const char *))
{
    for (; *words; words++)
        if (matches(text, *words)) return true;
    return false;
}

static bool contains(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static bool equals(const char *text, const char *other)
{
    return !strcmp(text, other);
}

/* Copies the letters and digits of a name, in lower case. */
static void simplify(const char *name, size_t bytes, char out[NAME_ROOM])
{
    size_t used = 0;
    for (size_t i = 0; i < bytes && used < NAME_ROOM - 1; i++)
        if (isalnum((unsigned char)name[i])) out[used++] = (char)tolower((unsigned char)name[i]);
    out[used] = 0;
}

static bool is_secret_name(const char *name, size_t bytes)
{
    static const char *const places[] = {"file", "path", "dir", "id", "name", "size", "dim", NULL};
    static const char *const parts[] = {"password",   "passwd",      "passphrase",    "secret",
                                        "apikey",     "accesskey",   "privatekey",    "authkey",
                                        "credential", "accesstoken", "authorization", NULL};
    static const char *const wholes[] = {"key", "token", "auth", "pass", "pwd", "bearer", NULL};
    /* Words that name a token of a text, or the key of an entry. */
    static const char *const harmless[] = {
        "eostoken",     "bostoken",   "padtoken",   "unktoken",   "masktoken", "septoken", "clstoken",
        "specialtoken", "imagetoken", "stoptoken",  "starttoken", "endtoken",  "pertoken", "nexttoken",
        "bytoken",      "sortkey",    "primarykey", "foreignkey", "labelkey",  "textkey",  "imagekey",
        "inputkey",     "outputkey",  "metrickey",  "cachekey",   "groupkey",  "monkey",   "turkey",
        "hotkey",       "keykey",     "tokentoken", "randomkey",  NULL};
    char simple[NAME_ROOM];
    simplify(name, bytes, simple);
    if (is_one_of(simple, places, ends_with) || is_one_of(simple, harmless, ends_with)) return false;
    return is_one_of(simple, parts, contains) || is_one_of(simple, wholes, equals) ||
           ends_with(simple, "token") || ends_with(simple, "key");
}

/* --- values */

static bool is_plain_value(const char *value, size_t bytes)
{
    static const char *const plain[] = {"true", "false", "yes",  "no", "on", "off",
                                        "none", "null",  "auto", "",   NULL};
    char simple[NAME_ROOM];
    simplify(value, bytes, simple);
    return is_one_of(simple, plain, equals);
}

static bool is_token_character(char c)
{
    return is_name_character(c) || c == '+' || c == '/' || c == '~';
}

static size_t token_bytes(const char *at)
{
    size_t bytes = 0;
    while (is_token_character(at[bytes])) bytes++;
    return bytes;
}

/* The bytes of a token of a well-known service that begins here; 0: none does. */
static size_t known_token(const char *at)
{
    static const char *const beginnings[] = {
        "hf_",   "sk-",   "sk_live_", "ghp_",  "gho_",      "ghu_",        "ghs_",    "ghr_",   "AKIA",
        "ASIA",  "AIza",  "xoxb-",    "xoxp-", "xoxa-",     "npm_",        "r8_",     "nvapi-", "eyJ",
        "pypi-", "ya29.", "glpat-",   "SG.",   "wandb_v1_", "github_pat_", "dop_v1_", NULL};
    for (size_t i = 0; beginnings[i]; i++) {
        size_t bytes = strlen(beginnings[i]);
        if (!strncmp(at, beginnings[i], bytes) && token_bytes(at) >= bytes + LEAST_TOKEN)
            return token_bytes(at);
    }
    return 0;
}

static size_t hex_key(const char *at)
{
    size_t bytes = token_bytes(at);
    for (size_t i = 0; i < bytes; i++)
        if (!isxdigit((unsigned char)at[i])) return 0;
    return bytes == HEX_KEY ? bytes : 0;
}

/* The bytes of "USER:PASSWORD" or "TOKEN" between "://" and "@", where `at` points behind "://"; 0: none. */
static size_t user_information(const char *at)
{
    size_t bytes = strcspn(at, "@/?# \t");
    return at[bytes] == '@' ? bytes : 0;
}

/* Behind the name of a secret: spaces, quotes, and the words that say how a token is to be used. */
static size_t before_value(const char *at)
{
    static const char *const schemes[] = {"Bearer ", "Basic ", "Token ", "token ", "bearer ", NULL};
    size_t bytes = strspn(at, " \"'");
    for (size_t i = 0; schemes[i]; i++)
        if (!strncmp(at + bytes, schemes[i], strlen(schemes[i]))) return bytes + strlen(schemes[i]);
    return bytes;
}

/* Where the name ends that stands in front of `at`, behind a quote perhaps; its bytes. */
static size_t name_before(const char *begin, const char *at, const char **name)
{
    const char *end = at;
    while (end > begin && (end[-1] == '"' || end[-1] == '\'' || end[-1] == ' ')) end--;
    for (*name = end; *name > begin && is_name_character((*name)[-1]); --*name) continue;
    return (size_t)(end - *name);
}

/* --- arguments */

/* What a secret is at `at`, of an argument that begins at `begin`: `*shown` bytes that are shown, and then
 * `*hidden` that are not. */
static bool find(const char *begin, const char *at, size_t *shown, size_t *hidden)
{
    static const char *const commits[] = {"commit",   "sha",    "rev",      "hash",
                                          "revision", "digest", "checksum", NULL};
    const char *name;
    char simple[NAME_ROOM];
    bool begins = at == begin || !is_token_character(at[-1]);
    *shown = 0;
    if (begins && (*hidden = known_token(at))) return true;
    if (begins && (*hidden = hex_key(at))) {
        size_t bytes = at > begin ? name_before(begin, at - 1, &name) : 0;
        simplify(bytes ? name : "", bytes, simple);
        if (!is_one_of(simple, commits, ends_with)) return true;
    }
    if (!strncmp(at, "://", 3) && (*hidden = user_information(at + 3))) {
        const char *colon = memchr(at + 3, ':', *hidden);
        *shown = 3 + (colon ? (size_t)(colon + 1 - (at + 3)) : 0);
        *hidden -= *shown - 3;
        return colon ? *hidden > 0 : *hidden >= LEAST_TOKEN;
    }
    if (*at != '=' && *at != ':') return false;
    size_t bytes = name_before(begin, at, &name);
    if (!bytes || !is_secret_name(name, bytes)) return false;
    *shown = 1 + before_value(at + 1);
    *hidden = name == begin || (name > begin && begin[0] == '-') ? strcspn(at + *shown, "&\n")
                                                                 : strcspn(at + *shown, "&;,\"'}) \t\n");
    if (!strncmp(at, "://", 3)) return false;
    return *hidden > 0 && !is_plain_value(at + *shown, *hidden);
}

static void put_argument(struct line *line, const char *argument)
{
    size_t shown, hidden;
    for (const char *at = argument; *at;) {
        if (!find(argument, at, &shown, &hidden)) {
            put(line, at++, 1);
            continue;
        }
        put(line, at, shown);
        put(line, SL_MASK, strlen(SL_MASK));
        at += shown + hidden;
    }
}

/* Whether the value of the option is the next argument, and is secret. */
static bool hides_next(const char *argument)
{
    size_t dashes = strspn(argument, "-"), bytes = strlen(argument);
    if (!dashes || dashes > 2) return false;
    for (size_t i = dashes; i < bytes; i++)
        if (!is_name_character(argument[i])) return false;
    return bytes - dashes > 1 && is_secret_name(argument + dashes, bytes - dashes);
}

/* As of curl: USER:PASSWORD. */
static bool names_user(const char *argument)
{
    return !strcmp(argument, "-u") || !strcmp(argument, "--user");
}

static void put_masked(struct line *line, const char *before, const char *argument)
{
    const char *colon = names_user(before) ? strchr(argument, ':') : NULL;
    if (colon && colon[1] != '/') {
        put(line, argument, (size_t)(colon + 1 - argument));
        put(line, SL_MASK, strlen(SL_MASK));
    } else if (hides_next(before) && argument[0] != '-' && !is_plain_value(argument, strlen(argument))) {
        put(line, SL_MASK, strlen(SL_MASK));
    } else {
        put_argument(line, argument);
    }
}

void sl_mask_command(const char *arguments, size_t bytes, bool mask, char *out, size_t room)
{
    struct line line = {.out = out, .room = room};
    const char *before = "";
    while (bytes && !arguments[bytes - 1]) bytes--;
    for (size_t at = 0; at < bytes; at += strlen(arguments + at) + 1) {
        const char *argument = arguments + at;
        if (at) put(&line, " ", 1);
        if (mask)
            put_masked(&line, before, argument);
        else
            put(&line, argument, strlen(argument));
        before = argument;
    }
    out[line.used] = 0;
}
