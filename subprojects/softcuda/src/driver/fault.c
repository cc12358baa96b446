#include "fault.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* Maximum bytes of a rule. */
#define RULE_BYTES 256

static const char *const functions[] = {
#define SC_API(name, symbol, version, streams) #name,
#include "api_built.def"
#include "api_refused.def"
#undef SC_API
};

static const struct {
    CUresult value;
    const char *name;
} errors[] = {
#define SC_ERROR(name, text) {name, #name},
#include "errors.def"
#undef SC_ERROR
};

/* Functions that work without a device also work after it is lost. */
static bool needs_device(const char *function)
{
    static const char *const pure[] = {"cuGetProcAddress", "cuGetExportTable", "cuGetErrorName",
                                       "cuGetErrorString", "cuDriverGetVersion"};
    for (size_t i = 0; i < sizeof pure / sizeof *pure; i++)
        if (!strcmp(pure[i], function)) return false;
    return true;
}

/* Removes "_ptsz", "_ptds" and "_v2" from the end of a name. */
static void cut_suffixes(char *name)
{
    size_t length = strlen(name);
    if (length > 5 && (!strcmp(name + length - 5, "_ptsz") || !strcmp(name + length - 5, "_ptds")))
        name[length -= 5] = 0;
    if (length > 3 && !strncmp(name + length - 3, "_v", 2) && isdigit((unsigned char)name[length - 1]))
        name[length - 3] = 0;
}

static const char *find_function(char *name)
{
    for (int cut = 0; cut < 2; cut++) {
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
            if (!strcmp(functions[i], name)) return functions[i];
        cut_suffixes(name);
    }
    return NULL;
}

static bool read_count(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)*text)) return false;
    *out = strtoull(text, &end, 10);
    return !errno && !*end;
}

static bool read_chance(const char *text, double *out)
{
    char *end;
    if (!isdigit((unsigned char)*text) && *text != '.') return false;
    *out = strtod(text, &end);
    return !*end && *out >= 0 && *out <= 1;
}

static bool read_error(const char *text, CUresult *out)
{
    uint64_t number = 0;
    bool numeric = read_count(text, &number);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        bool same = numeric ? number == (uint64_t)errors[i].value : !strcmp(text, errors[i].name);
        if (!same) continue;
        *out = errors[i].value;
        return *out != CUDA_SUCCESS;
    }
    return false;
}

static const char *name_of(CUresult error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].value == error) return errors[i].name;
    return "";
}

/* Parses one of the fields after the name; returns the error, or NULL. */
static const char *read_field(struct sc_fault_rule *rule, const char *field, bool *has_when, bool *has_seed)
{
    static const struct {
        const char *key;
        enum sc_fault_when when;
    } counts[] = {{"after=", SC_FAULT_AFTER}, {"every=", SC_FAULT_EVERY}, {"once=", SC_FAULT_ONCE}};
    if (!strncmp(field, "seed=", 5)) {
        *has_seed = true;
        return read_count(field + 5, &rule->seed) ? NULL : "the seed is not a number";
    }
    if (!strncmp(field, "caller=", 7)) {
        size_t length = strlen(field + 7);
        if (!length || length >= sizeof rule->caller) return "the caller is no file name";
        memcpy(rule->caller, field + 7, length + 1);
        return NULL;
    }
    if (!strcmp(field, "done")) {
        rule->done = true;
        return NULL;
    }
    if (!strchr(field, '=')) {
        if (rule->error) return "there are two errors";
        return read_error(field, &rule->error) ? NULL : "the error is not one of cuda.h";
    }
    if (*has_when) return "there are two conditions";
    *has_when = true;
    if (!strncmp(field, "p=", 2)) {
        rule->when = SC_FAULT_CHANCE;
        return read_chance(field + 2, &rule->chance) ? NULL : "p is not between 0 and 1";
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (strncmp(field, counts[i].key, strlen(counts[i].key))) continue;
        rule->when = counts[i].when;
        if (!read_count(field + strlen(counts[i].key), &rule->count)) return "the count is not a number";
        return rule->count || rule->when == SC_FAULT_AFTER ? NULL : "the count is 0";
    }
    return "a condition is not after=, every=, once= or p=";
}

/* Parses a rule and modifies `text`. Returns the error, or NULL. */
static const char *read_rule(char *text, struct sc_fault_rule *rule)
{
    char *rest, *field = strtok_r(text, ":", &rest);
    bool has_when = false, has_seed = false;
    memset(rule, 0, sizeof *rule);
    rule->loses_device = !strcmp(field, "device-lost");
    if (!rule->loses_device && strcmp(field, "*") && !(rule->function = find_function(field)))
        return "there is no such function";
    while ((field = strtok_r(NULL, ":", &rest))) {
        const char *wrong = read_field(rule, field, &has_when, &has_seed);
        if (wrong) return wrong;
    }
    if (!has_when) return "the condition is missing";
    if (has_seed && rule->when != SC_FAULT_CHANCE) return "a seed needs p=";
    if (rule->loses_device) {
        bool more = rule->error || rule->done || rule->caller[0];
        if (more || rule->when != SC_FAULT_AFTER) return "device-lost takes after= and nothing else";
        rule->error = CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
    return rule->error ? NULL : "the error is missing";
}

static const char *add_rule(const char *text, size_t bytes, struct sc_fault_rules *out)
{
    char copy[RULE_BYTES];
    if (bytes >= sizeof copy) return "it is too long";
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    struct sc_fault_rule rule;
    const char *wrong = copy[strspn(copy, ":")] ? read_rule(copy, &rule) : "it is empty";
    if (wrong) return wrong;
    struct sc_fault_rule *list = realloc(out->list, (out->count + 1) * sizeof *list);
    if (!list) return "no memory";
    out->list = list;
    list[out->count++] = rule;
    return NULL;
}

unsigned sc_fault_parse(const char *text, struct sc_fault_rules *out)
{
    unsigned bad = 0;
    memset(out, 0, sizeof *out);
    while (*text) {
        while (isspace((unsigned char)*text)) text++;
        size_t whole = strcspn(text, ",;"), bytes = whole;
        while (bytes && isspace((unsigned char)text[bytes - 1])) bytes--;
        const char *wrong = add_rule(text, bytes, out);
        if (wrong) sc_log("SOFTCUDA_FAULT: \"%.*s\" is ignored: %s", (int)bytes, text, wrong);
        bad += wrong != NULL;
        text += whole;
        if (*text) text++;
    }
    return bad;
}

void sc_fault_free(struct sc_fault_rules *rules)
{
    free(rules->list);
    memset(rules, 0, sizeof *rules);
}

/* Uniform in [0, 1). Depends on the number of the call, not on its thread. splitmix64 (Steele, Lea, Flood
 * 2014) */
static double draw(uint64_t seed, uint64_t call)
{
    uint64_t x = seed * UINT64_C(0x2545f4914f6cdd1d) + call * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

static bool fires(struct sc_fault_rule *rule, uint64_t call)
{
    switch (rule->when) {
    case SC_FAULT_AFTER:
        return call > rule->count;
    case SC_FAULT_EVERY:
        return call % rule->count == 0;
    case SC_FAULT_ONCE:
        return call == rule->count;
    default:
        return draw(rule->seed, call) < rule->chance;
    }
}

/* Whether `address` lies in the object `name`: libcudart.so is also libcudart.so.12. */
static bool is_in(const void *address, const char *name)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname) return false;
    const char *slash = strrchr(info.dli_fname, '/'), *file = slash ? slash + 1 : info.dli_fname;
    size_t length = strlen(name);
    return !strncmp(file, name, length) && (!file[length] || file[length] == '.');
}

static bool concerns(const struct sc_fault_rule *rule, const char *function, const void *caller)
{
    bool meant = rule->function ? !strcmp(rule->function, function) : needs_device(function);
    return meant && (!rule->caller[0] || is_in(caller, rule->caller));
}

struct sc_fault sc_fault_decide(struct sc_fault_rules *rules, const char *function, const void *caller)
{
    struct sc_fault fault = {CUDA_SUCCESS, 0};
    for (size_t i = 0; i < rules->count; i++) {
        struct sc_fault_rule *rule = &rules->list[i];
        if (!concerns(rule, function, caller)) continue;
        uint64_t call = atomic_fetch_add(&rule->calls, 1) + 1;
        if (fault.error || !fires(rule, call)) continue;
        fault = (struct sc_fault){rule->error, rule->done};
        if (rule->loses_device) atomic_store(&rules->device_lost, true);
        if (!atomic_exchange(&rule->told, true))
            sc_log("SOFTCUDA_FAULT: %s returns %s at call %llu", function, name_of(fault.error),
                   (unsigned long long)call);
    }
    if (atomic_load(&rules->device_lost) && needs_device(function))
        return (struct sc_fault){CUDA_ERROR_DEVICE_UNAVAILABLE, 0};
    return fault;
}
