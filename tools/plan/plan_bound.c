#include "tools/plan/plan_bound.h"

#include <string.h>

#include "tools/plan/link_bound.h"
#include "tools/text/table.h"

/* Without threads of sluice's, the launching thread moves what finds the queue of its direction empty, beside
 * the driver's thread. */
static void set_threads(struct link_load *load, bool beside)
{
    uint32_t workers = load->driver.workers;
    for (int way = 0; way < SL_SIM_WAYS; way++)
        load->threads[way] = sl_sim_driver_threads(&load->driver, (enum sl_sim_way)way);
    load->all_threads = workers == 1 && !beside ? SL_SIM_WAYS : workers;
}

static struct link_load load_of(const struct prediction *prediction)
{
    const struct replay_setting *setting = &prediction->setting;
    struct link_load load = {
        .computed_ns = prediction->resident_ns,
        .bytes_per_s = {[SL_SIM_IN] = setting->in_bytes_per_s, [SL_SIM_OUT] = setting->out_bytes_per_s},
        .call_bytes = setting->chunk_bytes,
        .call_ns = setting->transfer_ns,
        .driver = replay_driver(setting)};
    /* The driver by itself moves what faults touch, not chunks: of that no least is known. */
    if (strcmp(setting->policy, "driver") == 0) return load;
    /* What has to come was on the device before, and has left with a copy: sluice knows of no content that
     * the host still has. */
    load.bytes[SL_SIM_IN] = load.bytes[SL_SIM_OUT] = prediction->result.least_in_bytes;
    set_threads(&load, setting->plans_beside);
    return load;
}

void plan_bound_json(struct json *json, const struct prediction *prediction)
{
    struct link_load load = load_of(prediction);
    struct link_bound bound = link_bound(&load);
    json_object(json, "bound", false);
    json_number(json, "step_ns", bound.ns[bound.limit]);
    json_text(json, "limit", link_limit_names[bound.limit]);
    json_number(json, "bytes_in", load.bytes[SL_SIM_IN]);
    json_number(json, "bytes_out", load.bytes[SL_SIM_OUT]);
    json_object(json, "limits_ns", false);
    for (unsigned l = 0; l < LINK_LIMITS; l++) json_number(json, link_limit_names[l], bound.ns[l]);
    json_close(json);
    json_close(json);
}

static void add_row(struct table *table, const struct prediction *one)
{
    struct link_load load = load_of(one);
    struct link_bound bound = link_bound(&load);
    table_bytes(table, one->setting.budget_bytes);
    table_bytes(table, one->setting.chunk_bytes);
    table_cell(table, "%s", one->setting.policy);
    table_cell(table, "%.1f", (double)one->setting.in_bytes_per_s * 1e-9);
    table_bytes(table, load.bytes[SL_SIM_IN]);
    table_bytes(table, load.bytes[SL_SIM_OUT]);
    for (unsigned l = 0; l < LINK_LIMITS; l++) {
        if (bound.ns[l])
            table_time(table, bound.ns[l]);
        else
            table_cell(table, "-");
    }
    table_time(table, bound.ns[bound.limit]);
    table_cell(table, "%.2f", (double)one->result.steady.took_ns / (double)bound.ns[bound.limit]);
    table_cell(table, "%s", link_limit_names[bound.limit]);
}

bool plan_bound_print(const struct predictions *predictions, bool only_best)
{
    enum { BEFORE = 6, BEHIND = 3 };
    struct table_column columns[BEFORE + LINK_LIMITS + BEHIND] = {
        {"budget"}, {"chunk"}, {"policy", .text = true}, {"GB/s"}, {"in"}, {"out"}};
    for (unsigned l = 0; l < LINK_LIMITS; l++) columns[BEFORE + l].title = link_limit_names[l];
    columns[BEFORE + LINK_LIMITS] = (struct table_column){"bound"};
    columns[BEFORE + LINK_LIMITS + 1] = (struct table_column){"step/bound"};
    columns[BEFORE + LINK_LIMITS + 2] = (struct table_column){"limit", .text = true};
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    puts("\nNo step is shorter than what it must compute and move takes, whichever chunks leave and when:\n");
    for (size_t i = 0; i < predictions->count; i++) {
        const struct prediction *one = &predictions->at[i];
        if (one->result.status == SL_OK && (!only_best || one->best)) add_row(&table, one);
    }
    bool good = table_print(&table, stdout);
    table_free(&table);
    return good;
}
