#include "tools/plan/plan_measure.h"

enum { LEAST_SHARED = 8 }; /* transfers that have to overlap with others */
#define TURNS 0.6          /* with less of their speed, directions take turns */

/* Transfers of one direction, by their beginning. */
struct lane {
    const struct model *model;
    enum sl_action_kind kind;
    size_t at;
};

static const struct model_transfer *next_of(struct lane *lane)
{
    const struct model *model = lane->model;
    while (lane->at < model->transfers.count && model->transfers.at[lane->at].kind != lane->kind) lane->at++;
    return lane->at < model->transfers.count ? &model->transfers.at[lane->at] : NULL;
}

static uint64_t end_of(const struct model_transfer *transfer)
{
    return transfer->began_ns + transfer->took_ns;
}

/* Transfers of a direction do not overlap with each other, so two of opposite directions are looked at at a
 * time. */
double plan_measure_both(const struct model *model, uint64_t in_bytes_per_s, uint64_t out_bytes_per_s)
{
    struct lane in = {model, SL_ACTION_FETCH, 0}, out = {model, SL_ACTION_EVICT, 0};
    double needed_ns = 0, taken_ns = 0, shared_ns = 0;
    size_t shared = 0;
    for (size_t i = 0; i < model->transfers.count; i++) {
        const struct model_transfer *one = &model->transfers.at[i];
        bool is_in = one->kind == SL_ACTION_FETCH;
        if (!is_in && one->kind != SL_ACTION_EVICT) continue;
        needed_ns += (double)one->bytes * 1e9 / (double)(is_in ? in_bytes_per_s : out_bytes_per_s);
        taken_ns += (double)one->took_ns;
    }
    for (;;) {
        const struct model_transfer *a = next_of(&in), *b = next_of(&out);
        if (!a || !b) break;
        uint64_t begin = a->began_ns > b->began_ns ? a->began_ns : b->began_ns;
        uint64_t end = end_of(a) < end_of(b) ? end_of(a) : end_of(b);
        if (begin < end) shared_ns += 2 * (double)(end - begin);
        shared += begin < end;
        if (end_of(a) < end_of(b))
            in.at++;
        else
            out.at++;
    }
    double part = shared_ns > 0 ? (needed_ns - (taken_ns - shared_ns)) / shared_ns : 0;
    if (shared < LEAST_SHARED) return 0;
    return part < 0.5 ? 0.5 : part > 1 ? 1 : part;
}

bool plan_measure_split(uint64_t chunk_bytes, struct sl_sim_driver *driver, struct plan_link *link)
{
    double blocks = (double)(chunk_bytes / SL_BLOCK_BYTES);
    double in_ns = (double)chunk_bytes * 1e9 / (double)link->in_bytes_per_s;
    double out_ns = (double)chunk_bytes * 1e9 / (double)link->out_bytes_per_s;
    double copy_ns = blocks >= 1 ? (in_ns - driver->unmap_ns) / blocks : 0;
    if (!(copy_ns > 0)) return false;
    double map_ns = (out_ns - copy_ns) / blocks;              /* if it takes longer than a copy */
    if (map_ns < copy_ns) map_ns = out_ns - blocks * copy_ns; /* else the last block's is left over */
    if (!(map_ns >= 0) || map_ns > UINT32_MAX) return false;
    driver->map_ns = driver->remap_ns = (uint32_t)map_ns;
    link->in_bytes_per_s = link->out_bytes_per_s = (uint64_t)((double)SL_BLOCK_BYTES * 1e9 / copy_ns);
    return true;
}

void plan_measure(const struct replay_job *job, const struct sl_sim_driver *usual,
                  struct sl_sim_driver *driver, struct plan_link *link)
{
    double both = 0;
    for (size_t r = 0; r < job->count; r++) {
        const struct model *model = job->ranks[r].model;
        if (!model->link_in || !model->link_out) continue;
        double part = plan_measure_both(model, model->link_in, model->link_out);
        if (part > 0 && (!(both > 0) || part < both)) both = part;
    }
    *driver = *usual;
    if (!(both > 0)) return;
    struct sl_sim_driver turns = sl_sim_drivers[SL_SIM_580];
    struct plan_link split = *link;
    if (both < TURNS && plan_measure_split(job->ranks->model->chunk_bytes, &turns, &split)) {
        *driver = turns;
        *link = split;
        return;
    }
    *driver = sl_sim_drivers[SL_SIM_IDEAL];
    driver->both_percent = (uint32_t)(100 * both + 0.5);
}
