/* Finds, in the JSON of a profiler, where its events begin and what its times count from. Nothing else of it
 * is understood; all of it is copied. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "tools/export/chrome.h"

enum { KEY = 32 }; /* longer keys are none of those that are looked for */

struct scan {
    FILE *from;
    long at;        /* of the next character */
    unsigned depth; /* open objects and lists */
    char key[KEY];  /* the last text: of all texts only a key has a list or a number behind it */
    struct chrome_file *out;
};

static int next(struct scan *scan)
{
    int c = getc(scan->from);
    if (c != EOF) scan->at++;
    return c;
}

/* Behind the first quotation mark. False: it does not end. */
static bool read_text(struct scan *scan)
{
    size_t length = 0;
    for (int c; (c = next(scan)) != EOF;) {
        if (c == '"') {
            scan->key[length < KEY ? length : 0] = 0; /* none, if it is too long */
            return true;
        }
        if (c == '\\' && next(scan) == EOF) return false;
        if (length < KEY) scan->key[length++] = (char)c;
    }
    return false;
}

/* The number that begins with the digit `c`; what follows it stays to be read. */
static uint64_t read_number(struct scan *scan, int c)
{
    uint64_t number = 0;
    for (; c >= '0' && c <= '9'; c = next(scan))
        if (number < UINT64_MAX / 10) number = 10 * number + (uint64_t)(c - '0');
    if (c != EOF) {
        ungetc(c, scan->from);
        scan->at--;
    }
    return number;
}

/* A member of the whole, or an end of it. */
static void look(struct scan *scan, int c)
{
    if (c == '[' && scan->depth == 1 && !strcmp(scan->key, "traceEvents") && !scan->out->list) {
        scan->out->list = scan->at;
        int first = next(scan);
        while (first != EOF && isspace(first)) first = next(scan);
        scan->out->empty = first == ']';
        if (first == EOF) return;
        ungetc(first, scan->from);
        scan->at--;
    } else if (c >= '0' && c <= '9' && scan->depth == 1 && !strcmp(scan->key, "baseTimeNanoseconds")) {
        scan->out->base_ns = read_number(scan, c);
        scan->key[0] = 0;
    }
}

static const char *read_all(struct scan *scan)
{
    static const char no_json[] = "no JSON of a profiler", early[] = "ends early";
    int c = next(scan);
    if (c == 0x1f) return "compressed; gunzip it first";
    while (c != EOF && isspace(c)) c = next(scan);
    if (c != '{') return no_json;
    scan->out->object = scan->at;
    scan->depth = 1;
    while (scan->depth && (c = next(scan)) != EOF) {
        if (c == '"') {
            if (!read_text(scan)) return early;
            continue;
        }
        look(scan, c);
        if (c == '{' || c == '[') scan->depth++;
        if (c == '}' || c == ']') scan->depth--;
    }
    if (scan->depth) return early;
    return scan->out->list ? NULL : "has no traceEvents";
}

const char *chrome_file_open(const char *path, struct chrome_file *out)
{
    *out = (struct chrome_file){.from = fopen(path, "re")};
    if (!out->from) return strerror(errno);
    struct scan scan = {.from = out->from, .out = out};
    const char *problem = read_all(&scan);
    if (ferror(out->from)) problem = strerror(errno);
    if (problem) chrome_file_close(out);
    return problem;
}

void chrome_file_close(struct chrome_file *file)
{
    if (file->from) fclose(file->from);
    file->from = NULL;
}

bool chrome_file_copy(const struct chrome_file *file, long begin, long end, FILE *to)
{
    char bytes[16384];
    if (fseek(file->from, begin, SEEK_SET)) return false;
    while (end < 0 || begin < end) {
        size_t wanted =
            end < 0 || (size_t)(end - begin) > sizeof(bytes) ? sizeof(bytes) : (size_t)(end - begin);
        size_t got = fread(bytes, 1, wanted, file->from);
        if (!got) return end < 0 && !ferror(file->from);
        fwrite(bytes, 1, got, to);
        begin += (long)got;
    }
    return true;
}
