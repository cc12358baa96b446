#include "tools/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/budget.h"
#include "tools/replay/replay_internal.h"

enum {
    QUEUE = 1024,     /* launches that the driver queues before it blocks the program */
    CALL_NS = 1000,   /* host time of a driver call */
    FAULT_NS = 20000, /* time of a block that a page fault migrates */
    LOOK_BYTES = 128 << 10,
    LAST_FOR_STEADY = 5, /* number of last iterations whose median is the steady result */
};
#define NO_BUDGET (UINT64_C(1) << 46)

uint64_t replay_automatic_chunk(uint64_t budget_bytes)
{
    return sl_budget_chunk(budget_bytes);
}

uint64_t replay_least_budget(void)
{
    return SL_LEAST_BUDGET;
}

/* --- iterations */

static enum sl_status pass_border(struct replaying *r, uint32_t launches)
{
    const struct sl_sim_books *books = sl_backend_sim_books(&r->backend);
    r->sums[r->border] = (struct replay_iteration){.bytes_in = books->bytes_in,
                                                   .bytes_out = books->bytes_out,
                                                   .remote_bytes_used = books->remote_bytes_used,
                                                   .launches = launches,
                                                   .misses = r->core.stats->total.demand_misses,
                                                   .missed = r->missed};
    return sl_backend_sim_mark(&r->backend, replay_stream(r->last_stream), &r->marks[r->border++]);
}

static int by_time(const void *a, const void *b)
{
    const struct replay_iteration *x = a, *y = b;
    return (x->took_ns > y->took_ns) - (x->took_ns < y->took_ns);
}

/* The median of the last iterations, without those in which the core learned; if it only learned, the last.
 */
static void find_steady(struct replay_result *result)
{
    uint32_t count = result->iteration_count, last = count ? 1 : 0;
    if (count > REPLAY_LEARNING) last = count - REPLAY_LEARNING;
    if (last > LAST_FOR_STEADY) last = LAST_FOR_STEADY;
    struct replay_iteration sorted[LAST_FOR_STEADY];
    memcpy(sorted, result->iterations + count - last, last * sizeof(*sorted));
    qsort(sorted, last, sizeof(*sorted), by_time);
    if (last) result->steady = sorted[last / 2];
}

static void sum_up(struct replaying *r)
{
    struct replay_result *result = r->result;
    for (uint32_t b = 0; b < r->border; b++) result->borders_ns[b] = r->marks[b].time_ns;
    for (uint32_t b = 0; b + 1 < r->border; b++) {
        const struct replay_iteration *from = &r->sums[b], *to = from + 1;
        const struct sl_sim_mark *begin = &r->marks[b], *end = begin + 1;
        result->iterations[b] = (struct replay_iteration){
            .took_ns = (uint64_t)(end->time_ns - begin->time_ns),
            .stall_ns = (uint64_t)(end->stall_ns - begin->stall_ns),
            .longer_ns = (uint64_t)(end->longer_ns - begin->longer_ns),
            .waited_ns = (uint64_t)(end->waited_ns - begin->waited_ns),
            .moving_in_ns = (uint64_t)(end->moving_ns[SL_SIM_IN] - begin->moving_ns[SL_SIM_IN]),
            .moving_out_ns = (uint64_t)(end->moving_ns[SL_SIM_OUT] - begin->moving_ns[SL_SIM_OUT]),
            .bytes_in = to->bytes_in - from->bytes_in,
            .bytes_out = to->bytes_out - from->bytes_out,
            .remote_bytes_used = to->remote_bytes_used - from->remote_bytes_used,
            .launches = to->launches - from->launches,
            .misses = to->misses - from->misses,
            .missed = to->missed - from->missed,
        };
        result->iteration_count = b + 1;
    }
    find_steady(result);
}

#define RAISE(to, from) ((to) = (to) > (from) ? (to) : (from))

static void raise_all(struct replay_iteration *to, const struct replay_iteration *from)
{
    RAISE(to->stall_ns, from->stall_ns);
    RAISE(to->longer_ns, from->longer_ns);
    RAISE(to->waited_ns, from->waited_ns);
    RAISE(to->moving_in_ns, from->moving_in_ns);
    RAISE(to->moving_out_ns, from->moving_out_ns);
    RAISE(to->bytes_in, from->bytes_in);
    RAISE(to->bytes_out, from->bytes_out);
    RAISE(to->remote_bytes_used, from->remote_bytes_used);
    RAISE(to->launches, from->launches);
    RAISE(to->misses, from->misses);
    RAISE(to->missed, from->missed);
}

void replay_sum_up(const struct replay_result *of_rank, size_t count, struct replay_result *out)
{
    *out = *of_rank;
    for (size_t r = 1; r < count; r++) {
        const struct replay_result *other = &of_rank[r];
        if (out->status == SL_OK) out->status = other->status;
        if (other->iteration_count < out->iteration_count) out->iteration_count = other->iteration_count;
        RAISE(out->need_bytes, other->need_bytes);
        RAISE(out->missed_meetings, other->missed_meetings);
        RAISE(out->least_in_bytes, other->least_in_bytes);
        out->refused += other->refused;
        out->oversize += other->oversize;
        out->sizes_vary |= other->sizes_vary;
        for (unsigned c = 0; c < CLASS_COUNT; c++) out->left[c] += other->left[c];
        for (uint32_t b = 0; b <= out->iteration_count; b++) RAISE(out->borders_ns[b], other->borders_ns[b]);
        for (uint32_t b = 0; b < out->iteration_count; b++)
            raise_all(&out->iterations[b], &other->iterations[b]);
    }
    for (uint32_t b = 0; count > 1 && b < out->iteration_count; b++)
        out->iterations[b].took_ns = (uint64_t)(out->borders_ns[b + 1] - out->borders_ns[b]);
    out->steady = (struct replay_iteration){0};
    find_steady(out);
}

/* --- the run */

static void set_option(const char *name, const char *value)
{
    char variable[64];
    snprintf(variable, sizeof(variable), "SLUICE_%s", name);
    setenv(variable, value, 1);
}

static void set_size(const char *name, uint64_t bytes)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
    set_option(name, text);
}

/* Sets the core's options from the setting alone: options in the environment are for programs run from
 * here. */
static void set_options(const struct replay_setting *setting)
{
    extern char **environ;
    for (size_t i = 0; environ[i];) {
        char name[64];
        size_t length = strcspn(environ[i], "=");
        bool ours = !strncmp(environ[i], "SLUICE_", 7) && strncmp(environ[i], "SLUICE_TEST_", 12) &&
                    length < sizeof(name);
        if (!ours) {
            i++;
            continue;
        }
        memcpy(name, environ[i], length);
        name[length] = 0;
        unsetenv(name);
    }
    set_size("DEVICE_BUDGET", setting->budget_bytes ? setting->budget_bytes : NO_BUDGET);
    set_size("CHUNK", setting->chunk_bytes);
    set_size("HOST_LIMIT", SL_MAX_SLABS * SL_GIB);
    set_size("VIRTUAL_SIZE", SL_MAX_SLABS * SL_GIB);
    set_size("PLAN_ATTEMPTS", setting->plan_attempts);
    set_option("TOP", "off"); /* a replay is no run */
    set_option("POLICY", setting->policy);
    if (setting->backing) set_option("BACKING", setting->backing);
    set_option("DAEMON", setting->plans_beside ? "thread" : "inline");
    set_size("MOVERS", setting->movers ? setting->movers : 1);
}

/* Samples the contents of evicted memory. Called by the core during a launch. */
static void note_left(void *context, uint64_t address, uint64_t bytes)
{
    struct replaying *r = context;
    if (r->border + 1 != r->program->border_count) return; /* only the last iteration is sampled */
    for (uint64_t at = address; at < address + bytes; at += LOOK_BYTES) {
        uint32_t slot = sl_place_find(r->core.placement, at);
        unsigned class = slot < r->class_room ? r->class_of[slot] : CLASS_UNKNOWN;
        r->result->left[class] += LOOK_BYTES;
    }
}

struct sl_sim_driver replay_driver(const struct replay_setting *setting)
{
    struct sl_sim_driver driver = setting->driver;
    if (setting->plans_beside && driver.workers == 1) {
        driver.movers = setting->movers ? setting->movers : 1;
        driver.workers = driver.movers + (driver.movers + 1) / 2;
    }
    return driver;
}

/* Of the device on which the program ran. 0: unknown. */
static uint64_t memory_bytes_per_s(const struct model *model)
{
    const char *text = model_metadata(model, "device_bytes_per_s");
    return text ? strtoull(text, NULL, 10) : 0;
}

static enum sl_status start(struct replaying *r, const struct replay_setting *setting,
                            const struct sl_sim_meetings *meetings)
{
    struct sl_sim_device device = {
        .bytes = setting->budget_bytes ? setting->budget_bytes : NO_BUDGET,
        .memory_bytes_per_s = memory_bytes_per_s(r->program->model),
        .in_bytes_per_s = setting->in_bytes_per_s,
        .out_bytes_per_s = setting->out_bytes_per_s,
        .driver = replay_driver(setting),
        .daemon = setting->plans_beside,
        .transfer_ns = setting->transfer_ns,
        .call_ns = CALL_NS,
        .launch_ns = r->program->host_ns,
        .queue = QUEUE,
        .pages = !strcmp(setting->policy, "driver"),
        .fault_ns = FAULT_NS,
        .in_order = meetings != NULL,
        .first_plan_late = r->first_plan_late,
        .meetings = meetings,
        .copied_out = note_left,
        .context = r,
    };
    r->address_of = calloc(r->program->model->slots.count + 1, sizeof(*r->address_of));
    if (!r->address_of) return SL_ERR_NO_MEMORY;
    set_options(setting);
    sl_runtime_load();
    enum sl_status status = sl_backend_sim_new(&device, &r->backend);
    if (status == SL_OK) status = sl_runtime_start(&r->backend);
    if (status == SL_OK) r->core = sl_runtime_view();
    return status;
}

static enum sl_status begin_sequence(struct replaying *r)
{
    r->sequence = sequence_new();
    if (!r->sequence) return SL_ERR_NO_MEMORY;
    for (sl_chunk c = 0; c < sl_arena_chunk_count(r->core.arena); c++)
        if (replay_chunk_bytes(r, c) && !sl_content_is_dead(sl_arena_record(r->core.arena, c)->content))
            sequence_alive(r->sequence, c);
    return SL_OK;
}

static enum sl_status end_sequence(struct replaying *r, const struct replay_setting *setting)
{
    enum sl_status status = SL_OK;
    if (setting->find_least &&
        !sequence_least_bytes(r->sequence, setting->budget_bytes, &r->result->least_in_bytes))
        status = SL_ERR_NO_MEMORY;
    if (status == SL_OK && setting->sequence &&
        !sequence_write(r->sequence, r->program->name, setting->sequence))
        status = SL_ERR_IO;
    sequence_delete(r->sequence);
    r->sequence = NULL;
    return status;
}

/* Called when an iteration begins or the last one has ended: begins or ends the written sequence. */
static enum sl_status begin_or_end_sequence(struct replaying *r, const struct replay_setting *setting)
{
    uint32_t left = r->program->border_count - r->border;
    uint32_t wanted = setting->sequence ? setting->sequence_iterations : 1;
    if (!setting->sequence && !setting->find_least) return SL_OK;
    if (!r->sequence && left && left <= wanted) return begin_sequence(r);
    return r->sequence && !left ? end_sequence(r, setting) : SL_OK;
}

static enum sl_status go_through(struct replaying *r, const struct replay_setting *setting)
{
    const struct replay_program *program = r->program;
    enum sl_status status = SL_OK;
    for (uint32_t l = 0; l <= program->launches && status == SL_OK; l++) {
        if (r->border < program->border_count && program->borders[r->border] == l) {
            status = pass_border(r, l);
            if (status == SL_OK) status = begin_or_end_sequence(r, setting);
        }
        if (l == program->launches || status) break;
        const struct model_launch *launch = &program->model->launches.at[l];
        replay_catch_up(r, launch->tick);
        status = replay_launch(r, launch);
    }
    if (status == SL_OK) status = sl_backend_sim_finish_all(&r->backend);
    return status;
}

/* The rate of each direction of the link while both are in use. */
static double exchange_speed(const struct replay_setting *setting)
{
    uint64_t in = setting->in_bytes_per_s, out = setting->out_bytes_per_s;
    return (double)(in < out ? in : out) * 1e-9 * setting->driver.both_percent / 100;
}

void replay_run(const struct replay_job *job, size_t rank, const struct replay_setting *setting,
                const struct sl_sim_meetings *meetings, struct replay_result *result)
{
    *result = (struct replay_result){0};
    struct replaying *r = calloc(1, sizeof(*r));
    result->status = SL_ERR_NO_MEMORY;
    if (!r) return;
    r->program = &job->ranks[rank];
    r->meetings = job->meetings;
    r->meeting_of = job->meetings ? job->meetings->of_rank[rank] : NULL;
    /* The ranks' planner threads do not run in lockstep. They keep the distance with which they begin, and a
     * collective waits for the rank whose plan suits it least. So the ranks begin at different distances. */
    if (job->meetings) r->first_plan_late = (double)rank / (double)job->meetings->ranks;
    r->meets_over_link = setting->meets_over_link;
    r->rereads = setting->rereads;
    r->bytes_per_ns = exchange_speed(setting);
    r->result = result;
    result->status = start(r, setting, meetings);
    if (result->status == SL_OK) result->status = go_through(r, setting);
    if (result->status == SL_OK) {
        result->oversize = r->core.stats->oversize_launches;
        result->sizes_vary = r->core.placement->names.vary;
        sum_up(r);
    }
    sequence_delete(r->sequence);
    replay_order_free(&r->order);
    free(r->address_of);
    free(r->class_of);
    free(r->footprint);
    free(r->spans);
    free(r);
}
