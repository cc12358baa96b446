/* JSON as it is written: numbers of 64 bits stay exact. */
#ifndef SLUICE_JSON_H
#define SLUICE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 16 };

/* Set `to`, zero the rest. */
struct json {
    FILE *to;
    unsigned depth,
        lines; /* levels that are open, and of these, the outer ones with a line for each member */
    bool filled[JSON_DEPTH_MAX + 1];
    char ends[JSON_DEPTH_MAX + 1];
};

/* `key` is NULL in arrays and outside of everything, and needs no escapes. What is opened with `lines` has
 * each member on a line of its own, if what is around it has, too. json_close ends the line of the outermost.
 */
void json_object(struct json *json, const char *key, bool lines);
void json_array(struct json *json, const char *key, bool lines);
void json_close(struct json *json);

void json_number(struct json *json, const char *key, uint64_t value);
void json_address(struct json *json, const char *key, uint64_t value); /* as "0x7f..." */
/* With so many digits behind the point; what is no finite number is null. */
void json_real(struct json *json, const char *key, double value, int digits);
void json_bool(struct json *json, const char *key, bool value);
/* pre: defuse_text(text). NULL is null. */
void json_text(struct json *json, const char *key, const char *text);

/* `text` alone, with its quotes. pre: defuse_text(text). */
void json_quote(FILE *to, const char *text);

#endif
