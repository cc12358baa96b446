/* The settings of PyTorch's allocator, which PyTorch reads when it is imported. Some settings impair sluice's
 * plans. Invalid settings end the program or have no effect, without a clear message. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/doctor.h"

enum key_kind {
    KEY_OTHER,  /* valid for all backends */
    KEY_NATIVE, /* valid for the native backend only */
    KEY_SWITCH = 2,
    KEY_BACKEND = 4,
};

/* The keys of PyTorch 2.6 to 2.15. */
static const struct key {
    const char *name;
    unsigned kind;
} keys[] = {
    {"backend", KEY_BACKEND},
    {"expandable_segments", KEY_NATIVE | KEY_SWITCH},
    {"expandable_segments_handle_type", KEY_NATIVE},
    {"expandable_segments_reserve", KEY_NATIVE},
    {"expandable_segments_reserve_by_class", KEY_NATIVE},
    {"garbage_collection_threshold", KEY_NATIVE},
    {"graph_capture_record_stream_reuse", KEY_NATIVE | KEY_SWITCH},
    {"large_segment_size_mb", KEY_NATIVE},
    {"max_non_split_rounding_mb", KEY_NATIVE},
    {"max_split_size_mb", KEY_NATIVE},
    {"per_process_memory_fraction", KEY_OTHER},
    {"pinned_free_catch_all", KEY_SWITCH},
    {"pinned_max_cached_size_mb", KEY_OTHER},
    {"pinned_max_round_threshold_mb", KEY_OTHER},
    {"pinned_num_register_threads", KEY_OTHER},
    {"pinned_reserve_segment_size_mb", KEY_OTHER},
    {"pinned_use_background_threads", KEY_SWITCH},
    {"pinned_use_cuda_host_register", KEY_SWITCH},
    {"pinned_use_hip_host_register", KEY_SWITCH},
    {"release_lock_on_cudamalloc", KEY_NATIVE | KEY_SWITCH},
    {"release_lock_on_hipmalloc", KEY_NATIVE | KEY_SWITCH},
    {"roundup_power2_divisions", KEY_NATIVE},
    {"throw_on_cudamalloc_oom", KEY_SWITCH},
};
enum { KEYS = sizeof(keys) / sizeof(*keys) };

/* The variable being examined. */
struct settings {
    const char *variable;
    bool given[KEYS];
    bool is_async, is_wrong;
};

static size_t find_key(const char *name)
{
    size_t i = 0;
    while (i < KEYS && strcmp(keys[i].name, name) != 0) i++;
    return i;
}

static void say_wrong(struct findings *findings, struct settings *settings, const char *entry,
                      const char *why)
{
    settings->is_wrong = true;
    find(findings, VERDICT_NOTE, "PyTorch", "%s: %s: %s", settings->variable, entry, why);
}

/* `entry`: key:value, without blanks. */
static void examine_entry(struct findings *findings, struct settings *settings, char *entry)
{
    char *colon = strchr(entry, ':');
    if (!colon || colon == entry || !colon[1]) {
        say_wrong(findings, settings, entry, "PyTorch refuses entries other than key:value");
        return;
    }
    *colon = 0;
    size_t key = find_key(entry);
    *colon = ':';
    if (key == KEYS) {
        say_wrong(findings, settings, entry, "unknown key, which PyTorch may refuse");
        return;
    }
    if (settings->given[key]) say_wrong(findings, settings, entry, "duplicate key, which PyTorch may refuse");
    settings->given[key] = true;
    const char *value = colon + 1;
    bool is_async = !strcmp(value, "cudaMallocAsync");
    if (keys[key].kind & KEY_BACKEND) settings->is_async = is_async;
    if ((keys[key].kind & KEY_BACKEND) && !is_async && strcmp(value, "native") != 0)
        say_wrong(findings, settings, entry, "PyTorch accepts backend:native and backend:cudaMallocAsync");
    if ((keys[key].kind & KEY_SWITCH) && strcmp(value, "True") != 0 && strcmp(value, "False") != 0)
        say_wrong(findings, settings, entry, "PyTorch accepts only True and False");
}

/* Entries are separated by commas outside of brackets. Changes `text`. */
static void examine_entries(struct findings *findings, struct settings *settings, char *text)
{
    char *out = text, *entry = text;
    unsigned depth = 0;
    for (const char *in = text;; in++) {
        if (*in == '[') depth++;
        if (*in == ']' && depth) depth--;
        if (*in && (*in != ',' || depth)) {
            if (!isspace((unsigned char)*in)) *out++ = *in;
            continue;
        }
        bool is_last = !*in;
        *out++ = 0;
        if (*entry) examine_entry(findings, settings, entry);
        entry = out;
        if (is_last) return;
    }
}

static void examine_backend(struct findings *findings, struct settings *settings)
{
    for (size_t i = 0; i < KEYS && settings->is_async; i++)
        if (settings->given[i] && (keys[i].kind & KEY_NATIVE))
            say_wrong(findings, settings, keys[i].name, "no effect with backend:cudaMallocAsync");
}

/* PyTorch only checks whether the variable is set. */
static void examine_caching(struct findings *findings, struct settings *settings, const char *caching)
{
    static const char *const meant_off[] = {"", "0", "false", "False", "off", "no"};
    for (size_t i = 0; i < sizeof(meant_off) / sizeof(*meant_off); i++) {
        if (strcmp(caching, meant_off[i]) != 0) continue;
        settings->is_wrong = true;
        find(findings, VERDICT_NOTE, "PyTorch",
             "PYTORCH_NO_CUDA_MEMORY_CACHING=%s: any value disables the cache; unset it to enable the cache",
             caching);
        return;
    }
    if (!settings->is_async) return;
    settings->is_wrong = true;
    find(findings, VERDICT_NOTE, "PyTorch",
         "PYTORCH_NO_CUDA_MEMORY_CACHING has no effect with backend:cudaMallocAsync");
}

void examine_framework(struct findings *findings)
{
    const char *first = getenv("PYTORCH_CUDA_ALLOC_CONF"), *second = getenv("PYTORCH_ALLOC_CONF");
    const char *caching = getenv("PYTORCH_NO_CUDA_MEMORY_CACHING"), *value = first ? first : second;
    struct settings settings = {.variable = first ? "PYTORCH_CUDA_ALLOC_CONF" : "PYTORCH_ALLOC_CONF"};
    char *text = value ? strdup(value) : NULL;
    if (text) {
        examine_entries(findings, &settings, text);
        examine_backend(findings, &settings);
        free(text);
    }
    if (first && second && strcmp(first, second) != 0) {
        settings.is_wrong = true;
        find(findings, VERDICT_NOTE, "PyTorch",
             "PyTorch ignores PYTORCH_ALLOC_CONF=%s because PYTORCH_CUDA_ALLOC_CONF is set", second);
    }
    if (caching) examine_caching(findings, &settings, caching);
    if (settings.is_wrong) return;
    if (value && *value)
        find(findings, VERDICT_OK, "PyTorch", "%s=%s", settings.variable, value);
    else
        find(findings, VERDICT_OK, "PyTorch", "%s",
             caching ? "its cache is disabled" : "its allocator has no settings");
}
