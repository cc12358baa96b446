/* Selects the part of a trace that is replayed, and determines the times of its launches. */
#include <stdlib.h>

#include "tools/analyses/launch_times.h"
#include "tools/analyses/training.h"
#include "tools/model/sorted.h"
#include "tools/phases/phases.h"
#include "tools/replay/replay_prepare.h"

enum {
    LEAST_ITERATIONS = 6,
    ENOUGH_LAUNCHES = 400000, /* no iterations are added beyond this */
    ASSUMED_BYTES_PER_NS = 1000,
    ASSUMED_NS = 2000, /* of a launch, if none was measured */
    SAMPLE_NS = 3000,  /* host time of measuring one: two records and a question */
};
#define FASTEST_SHARE 0.1

static uint64_t set_bytes(const struct model *model, const struct model_shape *shape)
{
    const struct model_set *set = &model->sets.at[shape->set];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < set->count; i++) bytes += model_set_range(model, set, i)->bytes;
    return bytes;
}

struct rate {
    double bytes_per_ns, bytes;
};

static int by_rate(const void *a, const void *b)
{
    const struct rate *x = a, *y = b;
    return (x->bytes_per_ns < y->bytes_per_ns) - (x->bytes_per_ns > y->bytes_per_ns);
}

/* What the fastest launches reach that use a tenth of all bytes together: a few seem to be faster because
 * they use less of an allocation than the trace knows. */
static bool find_device_rate(struct replay_program *program)
{
    const struct model *model = program->model;
    struct rate *rates = calloc(model->shapes.count + 1, sizeof(*rates));
    if (!rates) return false;
    size_t count = 0;
    double all = 0, passed = 0;
    for (size_t s = 0; s < model->shapes.count; s++) {
        const struct model_shape *shape = &model->shapes.at[s];
        if (!program->shape_ns[s] || shape->kind == SL_LAUNCH_COPY) continue;
        double bytes = (double)set_bytes(model, shape);
        rates[count++] = (struct rate){bytes / (double)program->shape_ns[s], bytes};
        all += bytes;
    }
    qsort(rates, count, sizeof(*rates), by_rate);
    for (size_t i = 0; i < count && passed < all * FASTEST_SHARE; passed += rates[i++].bytes)
        program->bytes_per_ns = rates[i].bytes_per_ns;
    free(rates);
    return true;
}

/* How long a launch takes that was not measured, nor one that does the same: as long as the shortest that was
 * measured, and for its bytes as long as all of these took beyond that for theirs. */
struct guess {
    double fixed_ns, ns_per_byte;
};

static struct guess make_guess(const struct replay_program *program, const bool *used)
{
    const struct model *model = program->model;
    uint64_t shortest = UINT64_MAX, count = 0;
    double bytes = 0, ns = 0;
    for (size_t s = 0; s < model->shapes.count; s++) {
        uint64_t took = program->shape_ns[s];
        if (!used[s] || !took || model->shapes.at[s].kind == SL_LAUNCH_COPY) continue;
        if (took < shortest) shortest = took;
        bytes += (double)set_bytes(model, &model->shapes.at[s]);
        ns += (double)took;
        count++;
    }
    if (!count) return (struct guess){ASSUMED_NS, 1.0 / ASSUMED_BYTES_PER_NS};
    return (struct guess){(double)shortest, bytes > 0 ? (ns - (double)shortest * (double)count) / bytes : 0};
}

static bool find_times(struct replay_program *program)
{
    const struct model *model = program->model;
    program->shape_ns = shape_times(model);
    program->host_ns = measured_host_ns(model, SAMPLE_NS);
    bool *used = calloc(model->shapes.count + 1, sizeof(*used));
    bool *guessed = calloc(model->shapes.count + 1, sizeof(*guessed));
    bool good = program->shape_ns && used && guessed && find_device_rate(program);
    for (uint32_t l = 0; good && l < program->launches; l++) used[model->launches.at[l].shape] = true;
    const struct guess guess = good ? make_guess(program, used) : (struct guess){0};
    program->shortest_ns = (uint64_t)guess.fixed_ns;
    for (size_t s = 0; good && s < model->shapes.count; s++) {
        if (program->shape_ns[s] || model->shapes.at[s].kind == SL_LAUNCH_COPY) continue;
        guessed[s] = true;
        double bytes = (double)set_bytes(model, &model->shapes.at[s]);
        program->shape_ns[s] = (uint64_t)(guess.fixed_ns + bytes * guess.ns_per_byte);
    }
    for (uint32_t l = 0; good && l < program->launches; l++) {
        uint32_t shape = model->launches.at[l].shape;
        program->guessed += guessed[shape];
        program->guessed_ns += guessed[shape] ? program->shape_ns[shape] : 0;
        program->all_ns += program->shape_ns[shape];
    }
    free(used);
    free(guessed);
    return good;
}

static uint64_t last_tick(const struct replay_program *program)
{
    return program->launches ? program->model->launches.at[program->launches - 1].tick : 0;
}

static bool list_deaths(struct replay_program *program)
{
    const struct model *model = program->model;
    uint64_t end = last_tick(program);
    free(program->deaths);
    program->death_count = 0;
    program->deaths = calloc(model->lives.count + 1, sizeof(*program->deaths));
    if (!program->deaths) return false;
    for (size_t i = 0; i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        if (life->died_ns == MODEL_ALWAYS || life->died_tick > end) continue;
        program->deaths[program->death_count++] = (struct replay_death){life->died_ns, (uint32_t)i};
    }
    return sort_by_key(program->deaths, program->death_count, sizeof(*program->deaths),
                       offsetof(struct replay_death, time_ns));
}

/* Sets the deaths and the peak of live bytes, for the launches that are replayed, or so far may be. Births
 * are sorted, too. */
static bool find_peak(struct replay_program *program)
{
    const struct model *model = program->model;
    uint64_t live = 0, end = last_tick(program);
    size_t death = 0;
    if (!list_deaths(program)) return false;
    program->peak_bytes = 0;
    for (size_t i = 0; i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        if (life->born_tick > end && !life->born_before) continue;
        while (death < program->death_count && program->deaths[death].time_ns <= life->born_ns) {
            const struct model_life *dead = &model->lives.at[program->deaths[death++].life];
            uint64_t bytes = model->slots.at[dead->slot].bytes;
            live -= bytes < live ? bytes : live;
        }
        if (__builtin_add_overflow(live, model->slots.at[life->slot].bytes, &live)) live = UINT64_MAX;
        if (live > program->peak_bytes) program->peak_bytes = live;
    }
    return true;
}

static void add_border(struct replay_program *program, uint32_t launch)
{
    if (program->border_count && program->borders[program->border_count - 1] >= launch) return;
    if (program->border_count > REPLAY_ITERATIONS) return;
    program->borders[program->border_count++] = launch;
}

/* The work between two steps (zeroing of gradients) may be missing after the last step. The last step counts
 * only if this work is as long as before, or if there is but one other, which may be unlike all that follow.
 */
static void add_end(struct replay_program *program, uint32_t end)
{
    uint32_t count = program->border_count, *borders = program->borders;
    if (count > 2 && end - borders[count - 1] != borders[count - 1] - borders[count - 2]) return;
    add_border(program, end);
}

static void take_steps(struct replay_program *program, const struct phases *phases)
{
    uint32_t end = 0;
    for (uint32_t s = 0; s < phases->step_count; s++) {
        if (!phases->steps[s].whole) continue;
        add_border(program, phases->steps[s].begin);
        end = phases->steps[s].end;
    }
    if (end) add_end(program, end);
    program->steps = program->border_count > 1;
}

/* Takes the last repetitions instead if they hold more of the trace. */
static void take_repetitions(struct replay_program *program, const struct repetitions *found)
{
    uint32_t covered =
        program->border_count ? program->borders[program->border_count - 1] - program->borders[0] : 0;
    if (found->at[found->count - 1].end - found->at[0].begin <= covered) return;
    program->steps = false;
    program->border_count = 0;
    add_border(program, found->at[0].begin);
    for (uint32_t i = 0; i < found->count; i++) add_border(program, found->at[i].end);
}

/* Far behind the start of a long trace, they would take too long to reach. */
static bool is_near_enough(const struct repetitions *found)
{
    return found->count && found->at[0].begin < ENOUGH_LAUNCHES;
}

/* What the core saw end, for a program whose steps the phases do not tell: repetitions that are alike, or
 * else those that use much of the memory, or else all. */
static bool find_repetitions(struct replay_program *program, const struct phases *phases)
{
    const struct model *model = program->model;
    struct repetitions found;
    bool good =
        training_find(model, phases, STEADY_REPETITIONS, program->peak_bytes, TRAINING_SAME_BUT_ODD, &found);
    program->alike = good && is_near_enough(&found);
    if (good && !program->alike) {
        free(found.at);
        good = training_find(model, phases, STEADY_REPETITIONS, program->peak_bytes, TRAINING_UNLIKE, &found);
    }
    if (good && is_near_enough(&found)) take_repetitions(program, &found);
    free(found.at);
    bool taken = program->border_count > 1;
    for (size_t i = 0; good && !taken && i < model->iterations.count; i++)
        add_border(program, model_launches_to_tick(model, model->iterations.at[i].tick));
    return good;
}

/* Whether the last steps are alike. Their launches may differ, as by the lengths of batches. */
static bool compare_steps(struct replay_program *program, const struct phases *phases)
{
    struct repetitions found;
    bool good = training_find(program->model, phases, STEADY_STEPS, program->peak_bytes, TRAINING_SAME_MEMORY,
                              &found);
    program->alike = good && found.count;
    free(found.at);
    return good;
}

bool replay_find_borders(struct replay_program *program)
{
    const struct model *model = program->model;
    struct phases phases = {0};
    program->borders = calloc(REPLAY_ITERATIONS + 1, sizeof(*program->borders));
    if (!program->borders) return false;
    program->launches = (uint32_t)model->launches.count;
    bool good = phases_find(model, &phases) && find_peak(program);
    if (good) program->class_of_slot = phases_class_of_slots(model, &phases);
    good = good && program->class_of_slot;
    if (good) take_steps(program, &phases);
    if (good)
        good = phases.step_count > 2 && program->steps ? compare_steps(program, &phases)
                                                       : find_repetitions(program, &phases);
    phases_free(&phases);
    return good;
}

const char *replay_doubt(const struct replay_program *program)
{
    bool few = program->border_count <= REPLAY_LEARNING + 1;
    if (!program->alike && !(program->steps && few))
        return "What was replayed may be parts of training steps, or the steps change: the last ones are not "
               "alike.";
    return few ? "Too few steps were replayed to tell: the first may be unlike the others, and sluice learns "
                 "during the first ones. 6 steps usually tell."
               : NULL;
}

uint32_t replay_enough_borders(const struct replay_program *program)
{
    for (uint32_t b = 0; b < program->border_count; b++)
        if (b == REPLAY_ITERATIONS || (b >= LEAST_ITERATIONS && program->borders[b] >= ENOUGH_LAUNCHES))
            return b + 1;
    return UINT32_MAX;
}

/* Limits the launches to replay: to some iterations, or to the whole trace if there are none. */
static void limit(struct replay_program *program, uint32_t border_count)
{
    program->launches = (uint32_t)program->model->launches.count;
    program->whole = border_count > program->border_count;
    if (program->whole) return;
    program->border_count = border_count;
    program->launches = border_count ? program->borders[border_count - 1] : 0;
}

static void count_lost(struct replay_program *program)
{
    const struct model *model = program->model;
    for (size_t i = 0; i < model->gaps.count; i++)
        if (model->gaps.at[i].tick <= last_tick(program)) program->lost += model->gaps.at[i].lost;
}

bool replay_complete(struct replay_program *out, uint32_t border_count)
{
    limit(out, border_count);
    if (!find_times(out) || !find_peak(out)) return false;
    count_lost(out);
    return true;
}

bool replay_prepare(const struct model *model, struct replay_program *out)
{
    *out = (struct replay_program){.model = model};
    return replay_find_borders(out) && replay_complete(out, replay_enough_borders(out));
}

void replay_free(struct replay_program *program)
{
    free(program->borders);
    free(program->shape_ns);
    free(program->class_of_slot);
    free(program->deaths);
    *program = (struct replay_program){0};
}
