/* The rows of options.def as a table. */
#ifndef SLUICE_OPTION_TABLE_H
#define SLUICE_OPTION_TABLE_H

#include "base/options.h"

enum sl_option_type { TYPE_BYTES, TYPE_POWER, TYPE_ENUM, TYPE_INTEGER, TYPE_NUMBER, TYPE_STRING, TYPE_RULES };

/* See options.def for the columns. */
struct sl_option_row {
    const char *env, *flag, *names, *help;
    enum sl_option_type type;
    size_t offset;
    uint64_t fallback, low, high;
};

enum {
#define SL_OPTION(field_, ...) SL_OPTION_##field_,
#include "base/options.def"
#undef SL_OPTION
    SL_OPTION_COUNT
};
extern const struct sl_option_row sl_option_rows[SL_OPTION_COUNT];

/* Describe in words what the row allows, and a number of the row's type. */
void sl_option_describe_allowed(const struct sl_option_row *row, char *out, size_t bytes);
void sl_option_describe_number(const struct sl_option_row *row, uint64_t number, char *out, size_t bytes);

#endif
