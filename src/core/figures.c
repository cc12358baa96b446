#include "core/figures.h"

#include "core/core.h"
#include "core/runtime.h"

static void fill_counts(struct sluice_figures *out, const struct sl_counts *counts)
{
    out->launches = counts->launches;
    out->bytes_in_plan = counts->bytes_in[SL_CAUSE_PLAN];
    out->bytes_in_demand = counts->bytes_in[SL_CAUSE_DEMAND];
    out->bytes_in_late = counts->bytes_in[SL_CAUSE_LATE];
    out->bytes_out_plan = counts->bytes_out[SL_CAUSE_PLAN];
    out->bytes_out_demand = counts->bytes_out[SL_CAUSE_DEMAND];
    out->bytes_out_late = counts->bytes_out[SL_CAUSE_LATE];
    out->remote_bytes = counts->remote_bytes;
    out->demand_misses = counts->demand_misses;
    out->late_prefetches = counts->late_prefetches;
    out->stalls = counts->stalls;
    out->stall_ns = counts->stall_ns;
    out->mispredictions = counts->mispredictions;
}

static void fill(struct sluice_figures *out, const struct sl_stats *stats)
{
    fill_counts(out, &stats->total);
    out->events = stats->fed;
    out->predicted = stats->predicted;
    out->plans = stats->plans;
    out->steps = stats->steps;
    out->step_ns = stats->step_time_ns;
    out->device_step_ns = stats->device_step_ns;
    out->step_stall_ns = stats->device_stall_ns;
    out->budget_bytes = stats->budget_now_bytes;
    out->occupied_bytes = stats->occupied_bytes;
    out->peak_occupied_bytes = stats->peak_occupied_bytes;
    out->live_bytes = stats->live_bytes;
    out->need_bytes = stats->need_bytes;
    out->host_bytes = stats->host_bytes;
    out->chunk_bytes = stats->chunk_bytes;
}

bool sl_runtime_figures(uint32_t number, struct sluice_figures *out)
{
    struct sl_core *core = sl_core_numbered(number);
    if (!core) return false;
    sl_lock(&core->order);
    bool runs = !core->over;
    if (runs) {
        sl_monitor_observe(core);
        fill(out, &core->stats);
    }
    sl_unlock(&core->order);
    return runs;
}
