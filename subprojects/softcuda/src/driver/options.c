#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "default_driver.h"
#include "log.h"

struct profile {
    const char *name;
    const char *memory_bytes, *device_gbps, *tflops, *tf32_tflops, *half_tflops, *byte_tflops, *launch_ns,
        *link_in_gbps, *link_out_gbps, *link_both_gbps, *fault_ns, *capability, *processors;
};

static const struct profile profiles[] = {
#define SC_PROFILE(...) {__VA_ARGS__},
#include "profiles.def"
#undef SC_PROFILE
};

static const char profile_names[] =
#define SC_PROFILE(name, ...) " " name
#include "profiles.def"
#undef SC_PROFILE
    ;

struct driver {
    const char *name;
    int version;
    const char *map_ns, *unmap_ns, *remap_ns, *discard_ns, *retire_ns, *both_part;
};

static const struct driver drivers[] = {
#define SC_DRIVER(...) {__VA_ARGS__},
#include "drivers.def"
#undef SC_DRIVER
};

static const struct driver *find_driver(const char *name)
{
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (!strcmp(drivers[i].name, name)) return &drivers[i];
    return NULL;
}

static const struct profile *find_profile(const char *name)
{
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (!strcmp(profiles[i].name, name)) return &profiles[i];
    return NULL;
}

/* The default for `field` that the profile or the driver has. */
static const char *own_value(const struct profile *profile, const struct driver *driver, const char *field)
{
#define FROM(owner, name)                                                                                    \
    if (!strcmp(field, #name)) return owner->name
    FROM(profile, memory_bytes);
    FROM(profile, device_gbps);
    FROM(profile, tflops);
    FROM(profile, tf32_tflops);
    FROM(profile, half_tflops);
    FROM(profile, byte_tflops);
    FROM(profile, launch_ns);
    FROM(profile, link_in_gbps);
    FROM(profile, link_out_gbps);
    FROM(profile, link_both_gbps);
    FROM(profile, fault_ns);
    FROM(profile, capability);
    FROM(profile, processors);
    FROM(driver, map_ns);
    FROM(driver, unmap_ns);
    FROM(driver, remap_ns);
    FROM(driver, discard_ns);
    FROM(driver, retire_ns);
    FROM(driver, both_part);
#undef FROM
    return "0";
}

static bool parse_COUNT(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)*text)) return false;
    uint64_t value = strtoull(text, &end, 10);
    if (errno || *end) return false;
    *out = value;
    return true;
}

static bool parse_REAL(const char *text, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value <= 0) return false;
    *out = value;
    return true;
}

static bool parse_COST(const char *text, uint64_t *out)
{
    uint64_t value;
    if (!parse_COUNT(text, &value) || value > 1000000000) return false;
    *out = value;
    return true;
}

static bool parse_PART(const char *text, double *out)
{
    double value;
    if (!parse_REAL(text, &value) || value > 1) return false;
    *out = value;
    return true;
}

static bool parse_SIZE(const char *text, uint64_t *out)
{
    static const char suffixes[] = "KMGT";
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)*text)) return false;
    double value = strtod(text, &end);
    if (errno || !isfinite(value)) return false;
    const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    if (suffix) {
        value = ldexp(value, 10 * (int)(suffix - suffixes + 1));
        end++;
        if (*end == 'i' || *end == 'I') end++;
        if (*end == 'b' || *end == 'B') end++;
    }
    if (*end || value >= 0x1p63) return false;
    *out = (uint64_t)value;
    return true;
}

static bool parse_TEXT(const char *text, const char **out)
{
    *out = text;
    return true;
}

static bool parse_schedule(struct sc_options *options)
{
    const char *text = options->schedule;
    options->seed = 0;
    if (!strcmp(text, "late")) {
        options->order = SC_SCHEDULE_LATE;
    } else if (!strcmp(text, "eager")) {
        options->order = SC_SCHEDULE_EAGER;
    } else if (!strncmp(text, "random:", 7) && parse_COUNT(text + 7, &options->seed)) {
        options->order = SC_SCHEDULE_RANDOM;
    } else {
        options->order = SC_SCHEDULE_LATE;
        return false;
    }
    return true;
}

static bool parse_races(struct sc_options *options)
{
    static const char *const names[] = {"off", "report", "error"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(options->races, names[i])) {
            options->race_mode = (enum sc_race_mode)i;
            return true;
        }
    options->race_mode = SC_RACES_OFF;
    return false;
}

unsigned sc_options_parse(struct sc_options *out, const char *(*lookup)(const char *name))
{
    unsigned bad = 0;
    const char *name = lookup("PROFILE");
    const struct profile *profile = find_profile(name ? name : "h100-pcie5");
    if (!profile) {
        sc_log("SOFTCUDA_PROFILE=%s is not a profile; taking h100-pcie5. There are:%s", name, profile_names);
        profile = find_profile("h100-pcie5");
        bad++;
    }
    name = lookup("DRIVER");
    const struct driver *own = find_driver(sc_default_driver);
    const struct driver *driver = name && *name ? find_driver(name) : own;
    if (!driver || driver->version > own->version) {
        sc_log("SOFTCUDA_DRIVER=%s is not a driver of this library; taking %s", name, own->name);
        driver = own;
        bad++;
    }
#define SC_OPTION(field, variable, type, fallback, help)                                                     \
    {                                                                                                        \
        const char *base = fallback ? fallback : own_value(profile, driver, #field);                         \
        const char *text = lookup(variable);                                                                 \
        if (!text || !*text) text = base;                                                                    \
        if (!parse_##type(text, &out->field)) {                                                              \
            sc_log("SOFTCUDA_%s=%s is not a valid value; taking %s", variable, text, base);                  \
            parse_##type(base, &out->field);                                                                 \
            bad++;                                                                                           \
        }                                                                                                    \
    }
#include "options.def"
#undef SC_OPTION
    out->profile = profile->name;
    out->driver = driver->name;
    out->driver_version = driver->version;
    out->small_pages = !strcmp(out->host_pages, "4K");
    if (!out->small_pages && strcmp(out->host_pages, "2M")) {
        sc_log("SOFTCUDA_HOST_PAGES=%s is not 2M or 4K; taking 2M", out->host_pages);
        bad++;
    }
    out->sampled = !strcmp(out->execute, "sample");
    if (!out->sample_over) out->sample_over = 1;
    if (out->sample_over > UINT32_MAX) out->sample_over = UINT32_MAX;
    if (!out->sampled && strcmp(out->execute, "all")) {
        sc_log("SOFTCUDA_EXECUTE=%s is not all or sample; taking all", out->execute);
        bad++;
    }
    if (!parse_schedule(out)) {
        sc_log("SOFTCUDA_SCHEDULE=%s is not eager, late or random:SEED; taking late", out->schedule);
        bad++;
    }
    if (!parse_races(out)) {
        sc_log("SOFTCUDA_RACES=%s is not off, report or error; taking off", out->races);
        bad++;
    }
    if (out->race_mode != SC_RACES_OFF || *out->touched)
        out->sampled = false; /* all contents are looked at */
    if (!out->queue_limit) out->queue_limit = 1;
    if (!out->devices) out->devices = 1;
    return bad;
}

static const char *from_environment(const char *name)
{
    char variable[64];
    snprintf(variable, sizeof variable, "SOFTCUDA_%s", name);
    return getenv(variable);
}

static const char *const variables[] = {
#define SC_OPTION(field, variable, type, fallback, help) "SOFTCUDA_" variable,
#include "options.def"
#undef SC_OPTION
};
enum { VARIABLES = sizeof variables / sizeof *variables, NAME_MAX_LENGTH = 64 };

/* The insertions, deletions and substitutions that make `one` of `other`: the algorithm of Wagner and
 * Fischer. Precondition: `other` is shorter than NAME_MAX_LENGTH. */
static unsigned distance(const char *one, const char *other)
{
    unsigned row[NAME_MAX_LENGTH], length = (unsigned)strlen(other);
    for (unsigned j = 0; j <= length; j++) row[j] = j;
    for (unsigned i = 1; one[i - 1]; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= length; j++) {
            unsigned least = diagonal + (toupper((unsigned char)one[i - 1]) != other[j - 1]);
            if (row[j] + 1 < least) least = row[j] + 1;
            if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = least;
        }
    }
    return row[length];
}

unsigned sc_options_unknown(char *const *environment)
{
    static const char prefix[] = "SOFTCUDA_";
    unsigned unknown = 0;
    for (; environment && *environment; environment++) {
        char name[NAME_MAX_LENGTH];
        size_t length = strcspn(*environment, "="), best = 0;
        if (strncmp(*environment, prefix, strlen(prefix)) || length >= sizeof name) continue;
        memcpy(name, *environment, length);
        name[length] = 0;
        for (size_t i = 1; i < VARIABLES; i++)
            if (distance(name, variables[i]) < distance(name, variables[best])) best = i;
        if (!strcmp(name, variables[best])) continue;
        sc_log("unknown variable %s is ignored; the nearest name is %s", name, variables[best]);
        unknown++;
    }
    return unknown;
}

static struct sc_options current;

static void read_environment(void)
{
    sc_options_parse(&current, from_environment);
    sc_options_unknown(environ);
}

const struct sc_options *sc_options(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return &current;
}

const char *sc_options_visible_devices(void)
{
    return getenv("CUDA_VISIBLE_DEVICES");
}

#define SHOW_TEXT(value) "%s", value
#define SHOW_SIZE(value) "%llu bytes", (unsigned long long)(value)
#define SHOW_COUNT(value) "%llu", (unsigned long long)(value)
#define SHOW_COST(value) SHOW_COUNT(value)
#define SHOW_REAL(value) "%g", value
#define SHOW_PART(value) SHOW_REAL(value)

void sc_options_log(const struct sc_options *options)
{
    char value[256];
#define SC_OPTION(field, variable, type, fallback, help)                                                     \
    snprintf(value, sizeof value, SHOW_##type(options->field));                                              \
    sc_log("SOFTCUDA_%s=%s (%s)", variable, value, help);
#include "options.def"
#undef SC_OPTION
}
