#include "stats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "race_report.h"

static const char *const causes[SC_CAUSES] = {"copy", "prefetch", "fault", "eviction", "remote"};
static const char *const engines[SC_ENGINES] = {"compute", "copy_in", "copy_out", "peers"};

static void write_bytes(FILE *file, const char *name, const uint64_t *bytes)
{
    fprintf(file, "  \"%s\": {", name);
    for (int i = 0; i < SC_CAUSES; i++)
        fprintf(file, "%s\"%s\": %llu", i ? ", " : "", causes[i], (unsigned long long)bytes[i]);
    fprintf(file, "},\n");
}

static void write_number(FILE *file, const char *name, uint64_t value)
{
    fprintf(file, "  \"%s\": %llu,\n", name, (unsigned long long)value);
}

void sc_stats_write(struct sc_timing *timing)
{
    const struct sc_options *o = sc_options();
    if (!*o->stats) return;
    char path[4096];
    sc_expand_path(o->stats, path, sizeof path);
    FILE *file = fopen(path, "we");
    if (!file) {
        sc_log("cannot write statistics to %s: %s", path, strerror(errno));
        return;
    }
    uint64_t end_ns = timing->end_ns;
    for (struct sc_thread *thread = sc_threads(); thread; thread = thread->next)
        if (thread->clock_ns + thread->pending_ns > end_ns) end_ns = thread->clock_ns + thread->pending_ns;
    fprintf(file, "{\n  \"softcuda\": 1,\n  \"profile\": \"%s\",\n  \"schedule\": \"%s\",\n", o->profile,
            o->schedule);
    write_number(file, "memory_bytes", o->memory_bytes);
    write_number(file, "peak_device_bytes", sc_footprint_peak(&timing->footprint));
    write_number(file, "peak_allocated_bytes", sc_footprint_peak(&timing->allocated));
    write_bytes(file, "bytes_in", timing->totals.in);
    write_bytes(file, "bytes_out", timing->totals.out);
    write_number(file, "faults", timing->totals.faults);
    write_number(file, "launches", timing->launches);
    write_number(file, "flops", timing->flops);
    write_number(file, "device_traffic_bytes", timing->device_bytes);
    if (o->race_mode != SC_RACES_OFF) write_number(file, "races", sc_race_report_count());
    fprintf(file, "  \"busy_seconds\": {");
    for (int i = 0; i < SC_ENGINES; i++)
        fprintf(file, "%s\"%s\": %.9f", i ? ", " : "", engines[i], (double)timing->engines[i].busy_ns * 1e-9);
    fprintf(file, "},\n  \"simulated_seconds\": %.9f\n}\n", (double)end_ns * 1e-9);
    if (ferror(file) | fclose(file)) sc_log("cannot write statistics to %s", path);
}
