#include "race_report.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "callsite.h"
#include "log.h"
#include "options.h"
#include "space.h"

#define KNOWN_MAX 1000 /* number of races that are distinguished */
#define TOLD_MAX 100   /* number of races that are logged */

/* Two findings with equal members are the same race. */
struct race {
    enum sc_finding_kind kind;
    enum sc_use_kind earlier_use, use;
    const char *earlier_kind, *later_kind, *earlier_name, *later_name;
    const struct sc_site *earlier_site, *later_site;
};

static struct race known[KNOWN_MAX];
static uint64_t known_count, occurrences;

static const char *const use_names[] = {
    [SC_USE_READ] = "read",           [SC_USE_POLL] = "read",   [SC_USE_ATOMIC] = "atomic access",
    [SC_USE_PREFETCH] = "prefetch",   [SC_USE_WRITE] = "write", [SC_USE_DISCARD] = "discard",
    [SC_USE_ALLOCATE] = "allocation", [SC_USE_FREE] = "free",   [SC_USE_ADVISE] = "advice",
};

static bool same(const struct race *a, const struct race *b)
{
    return a->kind == b->kind && a->earlier_use == b->earlier_use && a->use == b->use &&
           a->earlier_kind == b->earlier_kind && a->later_kind == b->later_kind &&
           a->earlier_name == b->earlier_name && a->later_name == b->later_name &&
           a->earlier_site == b->earlier_site && a->later_site == b->later_site;
}

/* false: the race is known, or there are too many. */
static bool add(const struct race *race)
{
    for (uint64_t i = 0; i < known_count; i++)
        if (same(&known[i], race)) return false;
    if (known_count == KNOWN_MAX) return false;
    known[known_count++] = *race;
    return true;
}

static void headline(const struct sc_finding *finding, char *out, size_t bytes)
{
    const char *use = use_names[finding->use], *earlier = use_names[finding->earlier_use];
    if (finding->kind == SC_FOUND_GARBAGE)
        snprintf(out, bytes, "a read of bytes that were discarded, and that nobody has written since");
    else if (finding->use == SC_USE_ADVISE)
        snprintf(out, bytes, "this advice does not wait for an earlier submitted %s", earlier);
    else if (finding->kind == SC_FOUND_USE_AFTER_FREE)
        snprintf(out, bytes, "use after free: this %s comes after the free", use);
    else
        snprintf(out, bytes, "nothing puts this %s and an earlier submitted %s in order", use, earlier);
}

static void describe_memory(const struct sc_finding *finding, char *out, size_t bytes)
{
    static const char *const kinds[] = {
        [SC_MEMORY_DEVICE] = "device memory",        [SC_MEMORY_MANAGED] = "managed memory",
        [SC_MEMORY_PINNED] = "pinned memory",        [SC_MEMORY_REGISTERED] = "registered memory",
        [SC_MEMORY_MAPPED] = "mapped device memory",
    };
    int used = snprintf(out, bytes, "%llu bytes in [0x%llx, 0x%llx)", (unsigned long long)finding->bytes,
                        (unsigned long long)finding->low, (unsigned long long)finding->high);
    const struct sc_allocation *allocation = sc_space_find(finding->low);
    if (allocation)
        snprintf(out + used, bytes - (size_t)used, ", offset %llu of %llu bytes of %s",
                 (unsigned long long)(finding->low - allocation->begin),
                 (unsigned long long)allocation->bytes, kinds[allocation->kind]);
}

static void describe_actor(const struct sc_actor *actor, char *out, size_t bytes)
{
    char site[640], graph[64] = "", stream[64];
    sc_site_print(actor->site, site, sizeof site);
    if (actor->graph)
        snprintf(graph, sizeof graph, " in a graph's launch (%llu)", (unsigned long long)actor->graph);
    snprintf(stream, sizeof stream, "stream %llu, submitted", actor->stream);
    snprintf(out, bytes, "%s%s%.200s%s, operation %llu, %s at %s", actor->kind, *actor->name ? " " : "",
             actor->name, graph, (unsigned long long)actor->op, actor->by_host ? "given" : stream, site);
}

/* Also writes a report to SOFTCUDA_RACES_LOG. */
static void copy_to_file(const char *text)
{
    const char *wish = sc_options()->races_log;
    if (!*wish) return;
    char path[4096];
    sc_expand_path(wish, path, sizeof path);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return;
    dprintf(file, "%s\n", text);
    close(file);
}

void sc_race_report(const struct sc_actor *later, const struct sc_finding *finding)
{
    const struct sc_actor *earlier = finding->earlier;
    struct race race = {finding->kind, finding->earlier_use, finding->use,  earlier->kind, later->kind,
                        earlier->name, later->name,          earlier->site, later->site};
    occurrences++;
    if (!add(&race)) return;
    if (known_count > TOLD_MAX) return;
    char head[160], memory[240], now[1100], before[1100], text[2800];
    headline(finding, head, sizeof head);
    describe_memory(finding, memory, sizeof memory);
    describe_actor(later, now, sizeof now);
    describe_actor(earlier, before, sizeof before);
    snprintf(text, sizeof text, "race %llu: %s\n    memory:  %s\n    this:    %s\n    earlier: %s",
             (unsigned long long)known_count, head, memory, now, before);
    sc_log("%s", text);
    copy_to_file(text);
    if (known_count == TOLD_MAX) sc_log("further races are counted and not told");
}

uint64_t sc_race_report_count(void)
{
    return known_count;
}

void sc_race_report_close(void)
{
    if (known_count)
        sc_log("%llu different races were found, %llu times", (unsigned long long)known_count,
               (unsigned long long)occurrences);
}
