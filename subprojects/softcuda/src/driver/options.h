/* The one place where softcuda reads its environment; options.def lists the variables. */
#ifndef SOFTCUDA_OPTIONS_H
#define SOFTCUDA_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t sc_option_SIZE;
typedef uint64_t sc_option_COUNT;
typedef uint64_t sc_option_COST;
typedef double sc_option_REAL;
typedef double sc_option_PART;
typedef const char *sc_option_TEXT;

enum sc_race_mode { SC_RACES_OFF, SC_RACES_REPORT, SC_RACES_ERROR };
enum sc_schedule { SC_SCHEDULE_LATE, SC_SCHEDULE_EAGER, SC_SCHEDULE_RANDOM };

struct sc_options {
#define SC_OPTION(field, variable, type, fallback, help) sc_option_##type field;
#include "options.def"
#undef SC_OPTION
    int driver_version;     /* of `driver`, as cuDriverGetVersion says it */
    enum sc_schedule order; /* parsed from `schedule` */
    uint64_t seed;
    enum sc_race_mode race_mode; /* parsed from `races` */
    bool sampled;     /* parsed from `execute`; false while races or touched memory are looked for */
    bool small_pages; /* parsed from `host_pages` */
};

/* Where kernels are executed in part, matrix products of more bytes are not, and of messages between ranks no
 * more is moved. */
#define SC_SAMPLED_BYTES (UINT64_C(64) << 10)

/* The options, read from the environment at the first call. A value that does not parse is logged once and
 * replaced by its default; an unknown variable is logged once. Thread safety: may be called from any thread.
 */
const struct sc_options *sc_options(void);

/* Parses options into *out; lookup(name) returns a value, for a name without the SOFTCUDA_ prefix, or NULL if
 * it is not set. Returns the number of bad values. Strings point to what `lookup` returned. */
unsigned sc_options_parse(struct sc_options *out, const char *(*lookup)(const char *name));

/* Logs each variable of the environment, a list as environ is, that has the prefix SOFTCUDA_ and is none of
 * the table, with the nearest name of the table. Returns their number. */
unsigned sc_options_unknown(char *const *environment);

/* CUDA_VISIBLE_DEVICES, or NULL. */
const char *sc_options_visible_devices(void);

/* Logs every option with its value. */
void sc_options_log(const struct sc_options *options);

#endif
