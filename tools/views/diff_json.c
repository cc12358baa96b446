/* A comparison of two traces as JSON. */
#include <math.h>
#include <stdlib.h>

#include "tools/model/kernel_title.h"
#include "tools/views/trace_json.h"
#include "tools/views/diff_views.h"

static const char *const sides[DIFF_SIDES] = {"a", "b"};

static void print_change(struct json *json, uint64_t a, uint64_t b)
{
    json_real(json, "change", (double)b - (double)a, 0);
    json_real(json, "change_percent", diff_per_cent(a, b), 1);
}

static void print_figure(struct json *json, const struct diff_figure *figure)
{
    for (unsigned s = 0; s < DIFF_SIDES; s++) json_spread(json, sides[s], &figure->of[s]);
    print_change(json, figure->of[DIFF_A].median, figure->of[DIFF_B].median);
    json_bool(json, "compared", figure->compared);
    json_text(json, "state", diff_state_name(figure->state));
}

static bool print_verdict(struct json *json, const struct diff *diff)
{
    static const char *const bases[] = {"host time", "device time", "stall and bytes", "bytes"};
    char *headline = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&headline, &bytes);
    if (!to) return false;
    diff_headline(diff, to);
    bool good = fclose(to) == 0 && bytes;
    if (good) headline[bytes - 1] = 0; /* its newline */
    enum diff_state state = diff_verdict(diff);
    json_object(json, "verdict", true);
    json_text(json, "text", good ? headline : NULL);
    json_text(json, "state", diff_state_name(state));
    json_bool(json, "worse", state == DIFF_MORE);
    json_text(json, "judged_by", bases[diff->basis]);
    json_number(json, "threshold_percent", diff->threshold);
    json_close(json);
    free(headline);
    return good;
}

static void print_side(struct json *json, const struct diff_view *view, unsigned s)
{
    static const char *const kinds[STEADY_KINDS] = {"steps", "repetitions", "run"};
    const struct diff_side *side = &view->diff->sides[s];
    const struct launch_times *times = &side->figures.times;
    uint64_t budget = side->model->budget_bytes, peak = view->diff->figures[FIGURE_PEAK].of[s].median;
    json_object(json, sides[s], true);
    json_text(json, "path", view->paths[s]);
    json_text(json, "program", side->program.text);
    json_bool(json, "complete", side->model->problem.status == SL_OK);
    json_text(json, "iterations_are", kinds[side->steady.kind]);
    json_number(json, "iterations", side->steady.total);
    json_number(json, "compared_iterations", side->steady.count);
    json_number(json, "first_compared", side->steady.first);
    json_bool(json, "own_clock", side->own_clock);
    json_object(json, "launch_times", false);
    json_number(json, "launches", times->launches);
    json_number(json, "measured", times->measured);
    json_number(json, "equal_ones_measured", times->alike);
    json_number(json, "guessed", times->guessed);
    json_close(json);
    json_bool(json, "memory_by_class_is_live", side->figures.by_lives);
    json_number(json, "sites_peak_bytes", side->sites.peak_bytes);
    json_number(json, "budget_bytes", budget);
    json_real(json, "peak_percent_of_budget", budget ? 100.0 * (double)peak / (double)budget : NAN, 1);
    json_close(json);
}

static void print_settings(struct json *json, const struct diff *diff)
{
    json_array(json, "settings", true);
    for (unsigned i = 0; i < DIFF_SETTINGS; i++) {
        const struct diff_setting *setting = &diff->settings[i];
        json_object(json, NULL, false);
        json_text(json, "name", setting->name);
        for (unsigned s = 0; s < DIFF_SIDES; s++) {
            if (setting->unit == DIFF_TEXT)
                json_text(json, sides[s], setting->text[s]);
            else
                json_number(json, sides[s], setting->number[s]);
        }
        json_bool(json, "differs", setting->differs);
        json_close(json);
    }
    json_close(json);
}

static void print_figures(struct json *json, const struct diff *diff)
{
    static const char *const units[] = {"ns", "bytes", "number"};
    json_array(json, "figures", true);
    for (unsigned f = 0; f < FIGURE_COUNT; f++) {
        char name[FIGURE_NAME];
        json_object(json, NULL, false);
        json_text(json, "name", figure_name(f, name));
        json_text(json, "unit", units[figure_unit(f)]);
        print_figure(json, &diff->figures[f]);
        json_close(json);
    }
    json_close(json);
}

static bool print_kernels(struct json *json, const struct diff *diff)
{
    bool good = true;
    json_array(json, "kernels", true);
    for (size_t k = 0; k < diff->kernel_count && good; k++) {
        const struct diff_kernel *kernel = &diff->kernels[k];
        const struct {
            const char *key;
            const struct diff_figure *figure;
        } figures[] = {
            {"time_ns", &kernel->time}, {"stall_ns", &kernel->stalled}, {"launches", &kernel->launches}};
        json_object(json, NULL, false);
        json_text(json, "name", kernel->name);
        char *title = kernel->kind == SL_LAUNCH_KERNEL ? kernel_title(kernel->name) : NULL;
        good = title || kernel->kind != SL_LAUNCH_KERNEL;
        json_text(json, "title", title ? title : kernel->name);
        free(title);
        json_text(json, "kind", launch_kind_name(kernel->kind));
        json_text(json, "state", diff_state_name(kernel->state));
        for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
            json_object(json, figures[i].key, false);
            print_figure(json, figures[i].figure);
            json_close(json);
        }
        for (unsigned s = 0; s < DIFF_SIDES; s++) {
            json_object(json, sides[s], false);
            json_number(json, "stalls", kernel->stalls[s]);
            json_number(json, "measured", kernel->measured[s]);
            json_number(json, "launches_of_run", kernel->all[s]);
            json_close(json);
        }
        json_close(json);
    }
    json_close(json);
    return good;
}

static void print_site_side(struct json *json, const char *key, const struct site_figures *site)
{
    json_object(json, key, false);
    json_number(json, "allocations", site ? site->allocations : 0);
    json_number(json, "total_bytes", site ? site->total_bytes : 0);
    json_number(json, "peak_bytes", site ? site->peak_bytes : 0);
    json_number(json, "refused", site ? site->refused : 0);
    json_close(json);
}

/* Sites that do not matter have no title: to find it, object files are read. */
static void print_sites(struct json *json, const struct diff_view *view)
{
    const struct diff *diff = view->diff;
    json_array(json, "sites", true);
    for (size_t i = 0; i < diff->site_count; i++) {
        const struct diff_site *site = &diff->sites[i];
        const struct site_figures *a = site->of[DIFF_A], *b = site->of[DIFF_B];
        char title[SITE_TITLE];
        json_object(json, NULL, false);
        json_address(json, "site", (a ? a : b)->site);
        json_text(json, "title", diff_matters(site->state) ? diff_site_title(view, site, title) : NULL);
        json_text(json, "state", diff_state_name(site->state));
        for (unsigned s = 0; s < DIFF_SIDES; s++) print_site_side(json, sides[s], site->of[s]);
        print_change(json, a ? a->peak_bytes : 0, b ? b->peak_bytes : 0);
        json_text(json, "frames", (a ? a : b)->frames);
        json_close(json);
    }
    json_close(json);
}

static void print_counts(struct json *json, const char *key, struct diff_counts counts)
{
    json_object(json, key, false);
    json_number(json, "matter", counts.matter);
    json_number(json, "below_threshold", counts.small);
    json_number(json, "noise", counts.noise);
    json_number(json, "not_compared", counts.not_compared);
    json_close(json);
}

bool diff_json(struct json *json, const char *key, const struct diff_view *view)
{
    const struct diff *diff = view->diff;
    json_object(json, key, true);
    bool good = print_verdict(json, diff);
    for (unsigned s = 0; s < DIFF_SIDES; s++) print_side(json, view, s);
    print_settings(json, diff);
    print_figures(json, diff);
    good = print_kernels(json, diff) && good;
    print_sites(json, view);
    json_object(json, "counts", true);
    print_counts(json, "figures", diff_count_figures(diff));
    print_counts(json, "kernels", diff_count_kernels(diff));
    print_counts(json, "sites", diff_count_sites(diff));
    json_close(json);
    json_close(json);
    return good;
}
