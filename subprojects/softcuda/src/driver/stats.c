#include "stats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "driver.h"
#include "program_time.h"
#include "race_report.h"

#define PATH_BYTES 4096

static const char *const causes[SC_CAUSES] = {"copy", "prefetch", "fault", "eviction", "remote"};
static const char *const engines[SC_ENGINES] = {"compute", "copy_in", "copy_out", "peers"};

/* The statistics of one device, or of all devices together. */
struct figures {
    uint64_t peak_bytes, peak_allocated_bytes; /* of the device with the largest peak */
    uint64_t launches, flops, device_bytes, blocks, executed_blocks, busy_ns[SC_ENGINES];
    struct sc_effect totals;
};

static void larger(uint64_t *value, uint64_t other)
{
    if (other > *value) *value = other;
}

static void add(struct figures *figures, struct sc_timing *timing)
{
    larger(&figures->peak_bytes, sc_footprint_peak(&timing->footprint));
    larger(&figures->peak_allocated_bytes, sc_footprint_peak(&timing->allocated));
    for (int i = 0; i < SC_CAUSES; i++) {
        figures->totals.in[i] += timing->totals.in[i];
        figures->totals.out[i] += timing->totals.out[i];
    }
    for (int i = 0; i < SC_ENGINES; i++) figures->busy_ns[i] += timing->engines[i].busy_ns;
    figures->totals.faults += timing->totals.faults;
    figures->totals.host_faults += timing->totals.host_faults;
    figures->totals.collapses += timing->totals.collapses;
    figures->totals.collapsed_bytes += timing->totals.collapsed_bytes;
    figures->launches += timing->launches;
    figures->flops += timing->flops;
    figures->device_bytes += timing->device_bytes;
    figures->blocks += timing->blocks;
    figures->executed_blocks += timing->executed_blocks;
}

static void write_bytes(FILE *file, const char *indent, const char *name, const uint64_t *bytes)
{
    fprintf(file, "%s\"%s\": {", indent, name);
    for (int i = 0; i < SC_CAUSES; i++)
        fprintf(file, "%s\"%s\": %llu", i ? ", " : "", causes[i], (unsigned long long)bytes[i]);
    fprintf(file, "},\n");
}

static void write_number(FILE *file, const char *indent, const char *name, uint64_t value)
{
    fprintf(file, "%s\"%s\": %llu,\n", indent, name, (unsigned long long)value);
}

static void write_figures(FILE *file, const char *indent, const struct figures *figures)
{
    write_number(file, indent, "peak_device_bytes", figures->peak_bytes);
    write_number(file, indent, "peak_allocated_bytes", figures->peak_allocated_bytes);
    write_bytes(file, indent, "bytes_in", figures->totals.in);
    write_bytes(file, indent, "bytes_out", figures->totals.out);
    write_number(file, indent, "faults", figures->totals.faults);
    if (sc_options()->trap_host) write_number(file, indent, "host_faults", figures->totals.host_faults);
    write_number(file, indent, "collapses", figures->totals.collapses);
    write_number(file, indent, "collapsed_bytes", figures->totals.collapsed_bytes);
    write_number(file, indent, "launches", figures->launches);
    write_number(file, indent, "flops", figures->flops);
    write_number(file, indent, "device_traffic_bytes", figures->device_bytes);
    if (sc_options()->sampled) write_number(file, indent, "blocks", figures->blocks);
    if (sc_options()->sampled) write_number(file, indent, "executed_blocks", figures->executed_blocks);
    fprintf(file, "%s\"busy_seconds\": {", indent);
    for (int i = 0; i < SC_ENGINES; i++)
        fprintf(file, "%s\"%s\": %.9f", i ? ", " : "", engines[i], (double)figures->busy_ns[i] * 1e-9);
    fprintf(file, "}");
}

/* With several devices: the figures of each one that the process used. */
static void write_devices(FILE *file)
{
    const char *before = "";
    fprintf(file, "  \"devices\": [");
    for (int i = 0; i < sc_device_count(); i++) {
        struct figures one = {0};
        if (!sc_device_at(i)->used) continue;
        add(&one, &sc_device_at(i)->timing);
        fprintf(file, "%s\n    {\"ordinal\": %d, \"physical\": %d,\n", before, i, sc_device_at(i)->physical);
        write_figures(file, "     ", &one);
        fprintf(file, "}");
        before = ",";
    }
    fprintf(file, "],\n");
}

static uint64_t last_ns(void)
{
    uint64_t end_ns = 0;
    for (int i = 0; i < sc_device_count(); i++) larger(&end_ns, sc_device_at(i)->timing.end_ns);
    for (struct sc_thread *thread = sc_threads(); thread; thread = thread->next)
        larger(&end_ns, thread->clock_ns + thread->pending_ns);
    return end_ns;
}

static bool write_file(const char *path)
{
    const struct sc_options *o = sc_options();
    FILE *file = fopen(path, "we");
    if (!file) return false;
    struct figures all = {0};
    for (int i = 0; i < sc_device_count(); i++) add(&all, &sc_device_at(i)->timing);
    fprintf(file, "{\n  \"softcuda\": 1,\n  \"profile\": \"%s\",\n  \"schedule\": \"%s\",\n", o->profile,
            o->schedule);
    write_number(file, "  ", "memory_bytes", o->memory_bytes);
    if (o->race_mode != SC_RACES_OFF) write_number(file, "  ", "races", sc_race_report_count());
    if (sc_device_count() > 1) write_devices(file);
    write_figures(file, "  ", &all);
    if (o->sampled) fprintf(file, ",\n  \"program_seconds\": %.9f", (double)sc_program_time_ns() * 1e-9);
    fprintf(file, ",\n  \"simulated_seconds\": %.9f\n}\n", (double)last_ns() * 1e-9);
    return !(ferror(file) | fclose(file));
}

void sc_stats_write(void)
{
    char path[PATH_BYTES];
    if (!*sc_options()->stats) return;
    sc_expand_path(sc_options()->stats, path, sizeof path);
    if (!write_file(path)) sc_log("cannot write statistics to %s: %s", path, strerror(errno));
}

void sc_stats_go_on(void)
{
    static time_t last;
    char path[PATH_BYTES], part[PATH_BYTES + 8];
    struct timespec now;
    if (!sc_options()->sampled || !*sc_options()->stats) return;
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) || now.tv_sec == last) return;
    last = now.tv_sec;
    sc_expand_path(sc_options()->stats, path, sizeof path);
    snprintf(part, sizeof part, "%s.part", path);
    if (write_file(part)) rename(part, path); /* if not, the end will tell */
}
