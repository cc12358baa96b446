#include "tools/text/json.h"

#include <inttypes.h>
#include <math.h>

void json_quote(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

static void new_line(struct json *json)
{
    fputc('\n', json->to);
    for (unsigned i = 0; i < json->depth; i++) fputs("  ", json->to);
}

static void begin_member(struct json *json, const char *key)
{
    if (json->filled[json->depth]) fputc(',', json->to);
    if (json->depth && json->lines == json->depth)
        new_line(json);
    else if (json->filled[json->depth])
        fputc(' ', json->to);
    json->filled[json->depth] = true;
    if (key) fprintf(json->to, "\"%s\": ", key);
}

static void open_level(struct json *json, const char *key, bool lines, const char *brackets)
{
    begin_member(json, key);
    fputc(brackets[0], json->to);
    if (lines && json->lines == json->depth) json->lines++;
    json->depth++;
    json->filled[json->depth] = false;
    json->ends[json->depth] = brackets[1];
}

void json_object(struct json *json, const char *key, bool lines)
{
    open_level(json, key, lines, "{}");
}

void json_array(struct json *json, const char *key, bool lines)
{
    open_level(json, key, lines, "[]");
}

void json_close(struct json *json)
{
    bool lines = json->lines == json->depth, filled = json->filled[json->depth];
    char end = json->ends[json->depth];
    if (lines) json->lines--;
    json->depth--;
    if (lines && filled) new_line(json);
    fputc(end, json->to);
    if (json->depth) return;
    fputc('\n', json->to);
    json->filled[0] = false;
}

void json_number(struct json *json, const char *key, uint64_t value)
{
    begin_member(json, key);
    fprintf(json->to, "%" PRIu64, value);
}

void json_address(struct json *json, const char *key, uint64_t value)
{
    begin_member(json, key);
    fprintf(json->to, "\"0x%" PRIx64 "\"", value);
}

void json_real(struct json *json, const char *key, double value, int digits)
{
    begin_member(json, key);
    if (isfinite(value))
        fprintf(json->to, "%.*f", digits, value);
    else
        fputs("null", json->to);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_member(json, key);
    fputs(value ? "true" : "false", json->to);
}

void json_text(struct json *json, const char *key, const char *text)
{
    begin_member(json, key);
    if (text)
        json_quote(json->to, text);
    else
        fputs("null", json->to);
}
