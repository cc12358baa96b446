/* Assigns each launch to a part of training.
 *
 *  1. Memory is cut into segments, so that tensors in a slab are distinguished (segments.c).
 *  2. The launches are cut into windows at the first use of each new batch: the host repeatedly copies to the
 *     same memory, and the first kernel that uses the data begins a forward pass (windows.c). If several
 *     kernels are the first to use a part of the batch (tokens, and much later the targets), each is tried
 *     (phase_ways.c).
 *  3. In the kind of window that touches most of the kept memory and shows an update, the two turns are
 *     chosen that give every segment a sensible pattern (turns.c). The best way to cut is selected.
 *  4. The patterns give the classes of the segments. With these, every other kind of window is divided: one
 *     without gradients is evaluation, one without optimizer state is a micro-batch before the last.
 *  5. Copies, memsets and collectives get phases of their own, or the phase of the work that follows.
 *  6. The program's own marks take precedence. */
#include "tools/phases/phase_finder.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOKED_AT = 256,    /* kinds of windows that are divided individually; in other windows, launches get the
                           phases that they have elsewhere */
    LOSS_LAUNCHES = 8,  /* between the loss of each example and the backward pass */
    GRADIENT_SHARE = 4, /* a backward pass touches at least one in this many gradients */
};

const char *phase_name(enum phase phase)
{
    static const char *const names[PHASE_COUNT] = {"other",  "forward",    "backward", "passes",
                                                   "update", "evaluation", "copy",     "collective"};
    return names[phase < PHASE_COUNT ? phase : PHASE_OTHER];
}

static struct touched_in touched_in(const struct finder *f, const struct touches *touches, uint32_t s,
                                    const struct turns *turns)
{
    uint32_t segment = touches->segments[s];
    struct touched_in t = {
        .kept = f->is_kept[segment], .older = f->is_older[segment], .input = f->anchors.is_input[segment]};
    for (uint32_t i = touches->first[s]; i < touches->first[s + 1]; i++) {
        uint32_t position = touches->at[i];
        t.forward |= position < turns->backward;
        t.backward |= position >= turns->backward && position < turns->update;
        t.update |= position >= turns->update;
    }
    return t;
}

/* Classifies the segments without a class. */
static void classify(struct finder *f, const struct touches *touches, const struct turns *turns)
{
    for (uint32_t s = 0; s < touches->segment_count; s++) {
        uint8_t *class = &f->out->class_of[touches->segments[s]];
        if (*class == CLASS_UNKNOWN) *class = (uint8_t)class_from(touched_in(f, touches, s, turns));
    }
}

/* Kernels that reduce the losses of the examples to one number touch only results of the last use of the
 * batch. They still belong to the forward pass. */
static void keep_loss_forward(struct finder *f, const struct touches *touches, struct turns *turns)
{
    uint32_t *first = malloc((f->out->segments.count + 1) * sizeof(*first)), loss = 0;
    if (!first) {
        f->no_memory = true;
        return;
    }
    for (uint32_t s = 0; s < touches->segment_count; s++) {
        const uint32_t *at = touches->at + touches->first[s], *end = touches->at + touches->first[s + 1];
        first[touches->segments[s]] = *at;
        for (; f->anchors.is_input[touches->segments[s]] && at < end && *at < turns->backward; at++)
            if (*at > loss) loss = *at;
    }
    if (!loss && turns->backward) loss = turns->backward - 1;
    for (unsigned n = 0; n < LOSS_LAUNCHES && turns->backward && turns->backward < turns->update; n++) {
        const struct model_launch *launch = &f->model->launches.at[touches->launches[turns->backward]];
        bool pure = true;
        FOR_SEGMENTS(f->model, &f->out->segments, model_shape_of(f->model, launch), s)
        {
            uint8_t class = f->out->class_of[s];
            pure &= first[s] >= loss && class != CLASS_PARAMETER && class != CLASS_GRADIENT;
        }
        if (!pure) break;
        turns->backward++;
    }
    free(first);
}

static uint32_t count_class(const struct finder *f, const struct touches *touches, enum memory_class class)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < touches->segment_count; s++)
        count += f->out->class_of[touches->segments[s]] == class;
    return count;
}

/* The update begins right after the last launch that touches memory other than parameters, gradients and
 * optimizer state: that launch belongs to the passes. */
static void begin_update(const struct finder *f, const struct touches *touches, struct turns *turns)
{
    for (; turns->update > turns->backward + 1; turns->update--) {
        const struct model_launch *launch = &f->model->launches.at[touches->launches[turns->update - 1]];
        bool pure = model_shape_of(f->model, launch)->set != 0;
        FOR_SEGMENTS(f->model, &f->out->segments, model_shape_of(f->model, launch), s)
        {
            uint8_t class = f->out->class_of[s];
            pure &= class == CLASS_PARAMETER || class == CLASS_GRADIENT || class == CLASS_OPTIMIZER;
        }
        if (!pure) break;
    }
}

/* Finds the turns: first the update, then, given the update, the backward pass. */
static void settle(struct finder *f, const struct touches *touches, const struct knowledge *known,
                   struct turns *turns)
{
    if (!turns_find(touches, known, SL_NONE, turns)) {
        f->no_memory = true;
        return;
    }
    begin_update(f, touches, turns);
    if (!turns_find(touches, known, turns->update, turns)) f->no_memory = true;
    keep_loss_forward(f, touches, turns);
}

/* The division of the windows of a type. */
struct division {
    struct turns turns;
    bool known, evaluation;
};

static void divide(struct finder *f, uint32_t type, uint32_t gradients, struct division *out)
{
    struct touches touches;
    if (touches_of_type(f, type, &touches)) {
        struct knowledge known = {f->anchors.is_input, f->anchors.is_zeroed, f->is_kept, f->out->class_of};
        out->evaluation = count_class(f, &touches, CLASS_GRADIENT) * GRADIENT_SHARE < gradients;
        out->known = true;
        if (out->evaluation)
            out->turns = (struct turns){touches.positions, touches.positions, 0};
        else
            settle(f, &touches, &known, &out->turns);
        classify(f, &touches, &out->turns);
    }
    touches_free(&touches);
}

static enum phase phase_at(const struct division *division, uint32_t position, bool graph)
{
    if (division->evaluation) return PHASE_EVALUATION;
    if (position >= division->turns.update) return PHASE_UPDATE;
    if (position < division->turns.backward) return PHASE_FORWARD;
    return !division->turns.backward && graph ? PHASE_PASSES : PHASE_BACKWARD;
}

/* Labels a window's work. */
static void label_work(struct finder *f, const struct window *window, const struct division *division)
{
    const struct model *model = f->model;
    uint32_t position = 0;
    uint8_t last = PHASE_FORWARD;
    for (uint32_t l = window->anchor; l < window->end; l++) {
        if (!is_work(model, l)) continue;
        uint32_t shape = model->launches.at[l].shape;
        bool graph = model->shapes.at[shape].kind == SL_LAUNCH_GRAPH;
        if (division && division->known)
            f->of_shape[shape] = last = (uint8_t)phase_at(division, position++, graph);
        else if (f->of_shape[shape])
            last = f->of_shape[shape];
        f->out->of_launch[l] = last;
    }
}

/* Labels a window's copies, memsets and collectives. */
static void label_rest(struct finder *f, uint32_t begin, uint32_t end)
{
    const struct model *model = f->model;
    uint8_t *of_launch = f->out->of_launch, next = PHASE_OTHER;
    for (uint32_t l = end; l-- > begin;) {
        const struct model_shape *shape = model_shape_of(model, &model->launches.at[l]);
        if (is_work(model, l))
            next = of_launch[l];
        else if (shape->kind == SL_LAUNCH_COPY && shape->direction != SL_COPY_ON_DEVICE)
            of_launch[l] = PHASE_COPY;
        else
            of_launch[l] = shape->kind == SL_LAUNCH_COLLECTIVE ? PHASE_COLLECTIVE : next;
    }
    /* Launches after the last work have no following work. */
    for (uint32_t l = end; l-- > begin && !is_work(model, l);) {
        if (of_launch[l] != PHASE_OTHER) continue;
        uint32_t before = l;
        while (before > begin && !is_work(model, before)) before--;
        of_launch[l] = of_launch[before];
    }
}

static void label(struct finder *f, const struct division *divisions)
{
    uint32_t begin = f->windows.count ? f->windows.at[0].begin : (uint32_t)f->model->launches.count;
    label_rest(f, 0, begin);
    for (uint32_t w = 0; w < f->windows.count; w++) {
        const struct window *window = &f->windows.at[w];
        label_work(f, window, window->type == SL_NONE ? NULL : &divisions[window->type]);
        label_rest(f, window->begin, window->end);
    }
}

/* If a graph contains both passes, parameters and gradients are touched alike. Parameters are those that a
 * copy or memset wrote before the first batch. */
static void tell_parameters(struct finder *f)
{
    uint8_t *class_of = f->out->class_of;
    for (uint32_t l = 0; l < f->windows.at[0].begin; l++) {
        const struct model_shape *shape = model_shape_of(f->model, &f->model->launches.at[l]);
        if (shape->kind != SL_LAUNCH_COPY && shape->kind != SL_LAUNCH_MEMSET) continue;
        FOR_SEGMENTS(f->model, &f->out->segments, shape, s)
        if (class_of[s] == CLASS_GRADIENT && !f->anchors.is_zeroed[s]) class_of[s] = CLASS_PARAMETER;
    }
}

/* Marks the segments that are used before the first window. A memset does not count: it may be there to clear
 * memory for the windows. */
static void find_older(struct finder *f)
{
    const struct model *model = f->model;
    uint32_t end = f->windows.count ? f->windows.at[0].begin : 0;
    memset(f->is_older, 0, f->out->segments.count);
    for (uint32_t l = 0; l < end; l++) {
        const struct model_shape *shape = model_shape_of(model, &model->launches.at[l]);
        if (shape->kind == SL_LAUNCH_MEMSET) continue;
        FOR_SEGMENTS(model, &f->out->segments, shape, s) f->is_older[s] = 1;
    }
}

/* Finds the classes from the most informative windows. False: they have no gradients, so there is no
 * training. */
static bool find_classes(struct finder *f, uint32_t *gradients, struct division *divisions)
{
    struct sample sample;
    uint32_t way = choose_way(f);
    if (way == SL_NONE || !try_way(f, way, &sample)) return false;
    find_older(f);
    struct knowledge known = {
        .is_input = f->anchors.is_input, .is_zeroed = f->anchors.is_zeroed, .is_kept = f->is_kept};
    classify(f, &sample.touches, &sample.turns);
    settle(f, &sample.touches, &known, &sample.turns);
    memset(f->out->class_of, CLASS_UNKNOWN, f->out->segments.count);
    classify(f, &sample.touches, &sample.turns);
    if (sample.touches.graph_first && !sample.turns.backward) tell_parameters(f);
    *gradients = count_class(f, &sample.touches, CLASS_GRADIENT);
    touches_free(&sample.touches);
    divisions[sample.type] = (struct division){.turns = sample.turns, .known = true};
    return *gradients > 0;
}

static void find(struct finder *f)
{
    struct division *divisions = calloc(WINDOW_TYPES, sizeof(*divisions));
    uint32_t gradients = 0;
    if (!divisions) {
        f->no_memory = true;
        return;
    }
    f->out->found = find_classes(f, &gradients, divisions);
    if (!f->out->found) f->windows.count = 0;
    for (uint32_t t = 0; f->out->found && t < f->windows.type_count && t < LOOKED_AT; t++)
        if (!divisions[t].known) divide(f, t, gradients, &divisions[t]);
    label(f, divisions);
    free(divisions);
}

bool phases_find(const struct model *model, struct phases *out)
{
    *out = (struct phases){.of_launch = calloc(model->launches.count + 1, 1)};
    struct finder f = {.model = model, .out = out, .of_shape = calloc(model->shapes.count + 1, 1)};
    bool good = out->of_launch && f.of_shape && segments_make(model, &out->segments);
    if (good) {
        out->class_of = calloc(out->segments.count + 1, 1);
        f.is_kept = calloc(out->segments.count + 1, 1);
        f.is_older = calloc(out->segments.count + 1, 1);
        good = out->class_of && f.is_kept && f.is_older && anchors_find(model, &out->segments, &f.anchors);
    }
    if (good) {
        find(&f);
        good = !f.no_memory;
    }
    if (good) {
        out->marked = phases_from_marks(model, out->of_launch);
        good = steps_find(model, out);
    }
    anchors_free(&f.anchors);
    windows_free(&f.windows);
    free(f.is_kept);
    free(f.is_older);
    free(f.of_shape);
    return good;
}

void phases_free(struct phases *phases)
{
    free(phases->of_launch);
    free(phases->class_of);
    free(phases->steps);
    segments_free(&phases->segments);
    *phases = (struct phases){0};
}
