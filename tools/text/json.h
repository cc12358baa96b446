/* Writes JSON; 64-bit numbers stay exact. */
#ifndef SLUICE_JSON_H
#define SLUICE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 16 };

/* Set `to`, zero the rest. */
struct json {
    FILE *to;
    unsigned depth, lines; /* open levels, and how many of the outer ones have a line for each member */
    bool filled[JSON_DEPTH_MAX + 1];
    char ends[JSON_DEPTH_MAX + 1];
};

/* `key` is NULL in arrays and at the top level, and must not need escapes. With `lines`, each member has a
 * line of its own, if the enclosing level has `lines`, too. json_close ends the line of the outermost level.
 */
void json_object(struct json *json, const char *key, bool lines);
void json_array(struct json *json, const char *key, bool lines);
void json_close(struct json *json);

void json_number(struct json *json, const char *key, uint64_t value);
void json_address(struct json *json, const char *key, uint64_t value); /* as "0x7f..." */
/* With `digits` decimals; null unless it is finite. */
void json_real(struct json *json, const char *key, double value, int digits);
void json_bool(struct json *json, const char *key, bool value);
/* Precondition: sl_defuse(text). NULL gives null. */
void json_text(struct json *json, const char *key, const char *text);

/* `text` in quotes. Precondition: sl_defuse(text). */
void json_quote(FILE *to, const char *text);

#endif
