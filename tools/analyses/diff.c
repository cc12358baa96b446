#include "tools/analyses/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analyses/info.h"

enum { PART_SHARE = 10 }; /* of the threshold, for a part of a whole */

const char *diff_state_name(enum diff_state state)
{
    static const char *const names[DIFF_STATES] = {"same", "noise", "more", "less", "added", "gone"};
    return names[state < DIFF_STATES ? state : DIFF_SAME];
}

enum diff_state diff_compare(uint64_t a, uint64_t b, uint64_t width, uint64_t whole, uint64_t threshold)
{
    uint64_t difference = a < b ? b - a : a - b, smaller = a < b ? a : b;
    if (!difference || (double)difference * 100 <= (double)smaller * (double)threshold ||
        (double)difference * 100 * PART_SHARE <= (double)whole * (double)threshold)
        return DIFF_SAME;
    if (difference <= width) return DIFF_NOISE;
    return a < b ? DIFF_MORE : DIFF_LESS;
}

enum diff_state diff_compare_spreads(const struct spread of[DIFF_SIDES], uint64_t whole, uint64_t threshold)
{
    uint64_t a = spread_width(&of[DIFF_A]), b = spread_width(&of[DIFF_B]);
    return diff_compare(of[DIFF_A].median, of[DIFF_B].median, a > b ? a : b, whole, threshold);
}

static bool find_side(const struct model *model, struct diff_side *side)
{
    side->model = model;
    side->program = program_name(&model->header);
    side->own_clock = has_own_clock(model);
    return phases_find(model, &side->phases) && sites_find(model, &side->sites);
}

static bool find_figures(struct diff_side *side, enum steady_kind kind)
{
    steady_find(side->model, &side->phases, kind, &side->steady);
    if (!figures_make(side->model, &side->phases, &side->steady, &side->figures)) return false;
    const struct launch_times *times = &side->figures.times;
    side->guessed = 2 * (times->measured + times->alike) < times->launches;
    return true;
}

static void choose_basis(struct diff *diff)
{
    const struct diff_side *a = &diff->sides[DIFF_A], *b = &diff->sides[DIFF_B];
    const char *device_a = model_metadata(a->model, "device"), *device_b = model_metadata(b->model, "device");
    diff->devices_differ = device_a && device_b && strcmp(device_a, device_b) != 0;
    if (diff->devices_differ || a->own_clock != b->own_clock)
        diff->basis = DIFF_BY_BYTES;
    else if (!a->own_clock)
        diff->basis = DIFF_BY_HOST_TIME;
    else
        diff->basis = a->guessed || b->guessed ? DIFF_BY_STALL_AND_BYTES : DIFF_BY_DEVICE_TIME;
}

static bool is_comparable(const struct diff *diff, unsigned figure)
{
    const struct figures *a = &diff->sides[DIFF_A].figures, *b = &diff->sides[DIFF_B].figures;
    switch (figure) {
    case FIGURE_HOST_TIME:
        return diff->basis == DIFF_BY_HOST_TIME;
    case FIGURE_DEVICE_TIME:
    case FIGURE_KERNELS:
        return diff->basis != DIFF_BY_BYTES && !diff->sides[DIFF_A].guessed && !diff->sides[DIFF_B].guessed;
    case FIGURE_STALLED:
        return diff->basis != DIFF_BY_BYTES;
    default:
        break;
    }
    bool moved = figure >= FIGURE_FETCHED_OF && figure < FIGURE_PEAK;
    bool held = (figure >= FIGURE_PEAK_OF && figure < FIGURE_PEAK_OF + CLASS_COUNT) ||
                (figure >= FIGURE_MEAN_OF && figure < FIGURE_MEAN_OF + CLASS_COUNT);
    if (moved) return a->moved_classes && b->moved_classes;
    return !held || (a->classes_known && b->classes_known && a->by_lives == b->by_lives);
}

/* The figure of which another one is a part, or FIGURE_COUNT. */
static unsigned whole_of(const struct diff *diff, unsigned figure)
{
    if (figure == FIGURE_KERNELS || figure == FIGURE_STALLED) return diff_time(diff);
    if (figure > FIGURE_MOVED && figure < FIGURE_PEAK && figure != FIGURE_COPIED_IN &&
        figure != FIGURE_COPIED_OUT)
        return FIGURE_MOVED;
    if (figure >= FIGURE_PEAK_OF && figure < FIGURE_MEAN) return FIGURE_PEAK;
    if (figure >= FIGURE_MEAN_OF && figure < FIGURE_NEED) return FIGURE_MEAN;
    return FIGURE_COUNT;
}

static void summarise(struct diff *diff)
{
    uint64_t values[STEADY_MOST];
    for (unsigned f = 0; f < FIGURE_COUNT; f++) {
        for (unsigned s = 0; s < DIFF_SIDES; s++) {
            const struct figures *figures = &diff->sides[s].figures;
            for (uint32_t i = 0; i < figures->count; i++) values[i] = figures->of[i][f];
            diff->figures[f].of[s] = spread_of(values, figures->count);
        }
        diff->figures[f].compared = is_comparable(diff, f);
    }
    for (unsigned f = 0; f < FIGURE_COUNT; f++) {
        unsigned whole = whole_of(diff, f);
        uint64_t size = 0;
        for (unsigned s = 0; s < DIFF_SIDES && whole < FIGURE_COUNT; s++)
            if (diff->figures[whole].of[s].median > size) size = diff->figures[whole].of[s].median;
        if (diff->figures[f].compared)
            diff->figures[f].state = diff_compare_spreads(diff->figures[f].of, size, diff->threshold);
    }
}

static void compare_setting(const struct diff *diff, struct diff_setting *setting)
{
    const char *a = setting->text[DIFF_A], *b = setting->text[DIFF_B];
    uint64_t first = setting->number[DIFF_A], second = setting->number[DIFF_B];
    if (setting->unit == DIFF_TEXT)
        setting->differs = a && b ? strcmp(a, b) != 0 : a != b;
    else if (setting->unit == DIFF_BYTES)
        setting->differs = first != second;
    else /* as measured */
        setting->differs = first && second && diff_compare(first, second, 0, 0, diff->threshold) != DIFF_SAME;
}

static void find_settings(struct diff *diff)
{
    static const char *const texts[] = {"command", "sluice", "device", "driver", "policy", "daemon", "rank"};
    const struct model *a = diff->sides[DIFF_A].model, *b = diff->sides[DIFF_B].model;
    size_t count = 0;
    diff->settings[count++] =
        (struct diff_setting){.name = "program",
                              .text = {diff->sides[DIFF_A].program.text, diff->sides[DIFF_B].program.text},
                              .unit = DIFF_TEXT};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        diff->settings[count++] =
            (struct diff_setting){.name = texts[i],
                                  .text = {model_metadata(a, texts[i]), model_metadata(b, texts[i])},
                                  .unit = DIFF_TEXT};
    const struct diff_setting numbers[] = {
        {.name = "device memory", .number = {a->device_bytes, b->device_bytes}, .unit = DIFF_BYTES},
        {.name = "budget", .number = {a->budget_bytes, b->budget_bytes}, .unit = DIFF_BYTES},
        {.name = "chunk", .number = {a->chunk_bytes, b->chunk_bytes}, .unit = DIFF_BYTES},
        {.name = "link in", .number = {a->link_in, b->link_in}, .unit = DIFF_BYTES_PER_SECOND},
        {.name = "link out", .number = {a->link_out, b->link_out}, .unit = DIFF_BYTES_PER_SECOND},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) diff->settings[count++] = numbers[i];
    for (size_t i = 0; i < count; i++) compare_setting(diff, &diff->settings[i]);
}

bool diff_make(const struct model *a, const struct model *b, uint64_t threshold, struct diff *out)
{
    *out = (struct diff){.threshold = threshold};
    if (!find_side(a, &out->sides[DIFF_A]) || !find_side(b, &out->sides[DIFF_B])) return false;
    enum steady_kind kind = STEADY_STEPS, before;
    do { /* until both traces have this kind */
        before = kind;
        for (unsigned s = 0; s < DIFF_SIDES; s++)
            kind = steady_kind_of(out->sides[s].model, &out->sides[s].phases, kind);
    } while (kind != before);
    for (unsigned s = 0; s < DIFF_SIDES; s++)
        if (!find_figures(&out->sides[s], kind)) return false;
    choose_basis(out);
    find_settings(out);
    summarise(out);
    return diff_find_kernels(out) && diff_find_sites(out);
}

void diff_free(struct diff *diff)
{
    for (unsigned s = 0; s < DIFF_SIDES; s++) {
        phases_free(&diff->sides[s].phases);
        figures_free(&diff->sides[s].figures);
        sites_free(&diff->sides[s].sites);
    }
    free(diff->kernels);
    free(diff->sites);
    *diff = (struct diff){0};
}

enum diff_state diff_verdict(const struct diff *diff)
{
    enum diff_state stalled = diff->figures[FIGURE_STALLED].state, moved = diff->figures[FIGURE_MOVED].state;
    if (diff->basis == DIFF_BY_BYTES) return moved;
    if (diff->basis != DIFF_BY_STALL_AND_BYTES) return diff->figures[diff_time(diff)].state;
    /* Bytes that cause no stall are hidden behind kernels. */
    return diff_matters(stalled) || !diff_matters(moved) ? stalled : moved;
}

double diff_per_cent(uint64_t a, uint64_t b)
{
    if (a == b) return 0;
    return a ? ((double)b - (double)a) * 100 / (double)a : INFINITY;
}

static void count(struct diff_counts *counts, enum diff_state state, bool differs)
{
    counts->matter += diff_matters(state);
    counts->noise += state == DIFF_NOISE;
    counts->small += state == DIFF_SAME && differs;
}

static bool medians_differ(const struct diff_figure *figure)
{
    return figure->of[DIFF_A].median != figure->of[DIFF_B].median;
}

struct diff_counts diff_count_figures(const struct diff *diff)
{
    struct diff_counts counts = {0};
    for (unsigned f = 0; f < FIGURE_COUNT; f++) {
        const struct diff_figure *figure = &diff->figures[f];
        if (figure->compared)
            count(&counts, figure->state, medians_differ(figure));
        else
            counts.not_compared++;
    }
    return counts;
}

struct diff_counts diff_count_kernels(const struct diff *diff)
{
    struct diff_counts counts = {0};
    for (size_t k = 0; k < diff->kernel_count; k++) {
        const struct diff_kernel *kernel = &diff->kernels[k];
        bool differs = (kernel->time.compared && medians_differ(&kernel->time)) ||
                       (kernel->stalled.compared && medians_differ(&kernel->stalled)) ||
                       medians_differ(&kernel->launches);
        count(&counts, kernel->state, differs);
        counts.not_compared += !kernel->time.compared;
    }
    return counts;
}

struct diff_counts diff_count_sites(const struct diff *diff)
{
    struct diff_counts counts = {0};
    for (size_t i = 0; i < diff->site_count; i++) {
        const struct diff_site *site = &diff->sites[i];
        const struct site_figures *a = site->of[DIFF_A], *b = site->of[DIFF_B];
        count(&counts, site->state, !a || !b || a->peak_bytes != b->peak_bytes);
    }
    return counts;
}
