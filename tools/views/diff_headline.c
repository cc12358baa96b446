/* The verdict on two traces as a sentence. */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "tools/text/table.h"
#include "tools/views/diff_views.h"

enum { SHARE_SHOWN = 10 }; /* a part of the change is named if it is one in this many */

static const char *text_of(unsigned figure, uint64_t value, char out[TIME_TEXT])
{
    return figure_unit(figure) == FIGURE_IN_NS ? time_text(value, out) : sl_bytes_text(value, out);
}

/* "B is 12.3 % slower per iteration (11.4 ms, A 10.2 ms)" */
static void print_lead(const struct diff *diff, unsigned figure, FILE *to)
{
    uint64_t a = diff->figures[figure].of[DIFF_A].median, b = diff->figures[figure].of[DIFF_B].median;
    bool time = figure == diff_time(diff), stall = figure == FIGURE_STALLED, more = b > a;
    double per_cent = diff_per_cent(a, b);
    char first[TIME_TEXT], second[TIME_TEXT], by[32];
    const char *verb = time ? "is" : stall ? "stalls" : "moves";
    const char *how = time    ? more ? "slower" : "faster"
                      : stall ? more ? "longer" : "less"
                      : more  ? "more bytes"
                              : "fewer bytes";
    if (isinf(per_cent)) {
        fprintf(to, "B %s %s per iteration, A none", stall ? "stalls for" : verb, text_of(figure, b, second));
        return;
    }
    if (per_cent > 999.9)
        snprintf(by, sizeof(by), "%.4g times", (double)b / (double)a);
    else
        snprintf(by, sizeof(by), "%.1f %%", fabs(per_cent));
    fprintf(to, "B %s %s %s per iteration (%s, A %s)", verb, by, how, text_of(figure, b, second),
            text_of(figure, a, first));
}

/* ": 81.0 ms more stalled, 4.00 ms more in kernels" */
static void print_parts(const struct diff *diff, FILE *to)
{
    static const struct {
        enum figure figure;
        const char *more, *less;
    } parts[] = {{FIGURE_STALLED, "more stalled", "less stalled"},
                 {FIGURE_KERNELS, "more in kernels", "less in kernels"}};
    const struct spread *whole = diff->figures[diff_time(diff)].of;
    double change = fabs((double)whole[DIFF_B].median - (double)whole[DIFF_A].median);
    const char *between = ": ";
    bool known = true;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        const struct diff_figure *figure = &diff->figures[parts[i].figure];
        uint64_t a = figure->of[DIFF_A].median, b = figure->of[DIFF_B].median;
        uint64_t by = a < b ? b - a : a - b;
        char text[TIME_TEXT];
        known = known && figure->compared;
        if (!figure->compared || (double)by * SHARE_SHOWN < change) continue;
        fprintf(to, "%s%s %s", between, time_text(by, text), a < b ? parts[i].more : parts[i].less);
        between = ", ";
    }
    if (known && between[0] == ':') fputs(": neither in kernels nor in stalls", to);
}

static const char *reservation(const struct diff *diff)
{
    switch (diff->basis) {
    case DIFF_BY_BYTES:
        return diff->devices_differ
                   ? "; times are not compared, because the devices differ"
                   : "; times are not compared, because only one device has a clock of its own";
    case DIFF_BY_STALL_AND_BYTES:
        return "; only stalls and bytes are compared, because the times of most launches are guesses";
    default:
        return "";
    }
}

static void print_no_difference(const struct diff *diff, FILE *to)
{
    enum diff_state verdict = diff_verdict(diff);
    size_t others =
        diff_count_figures(diff).matter + diff_count_kernels(diff).matter + diff_count_sites(diff).matter;
    bool by_time = diff->basis == DIFF_BY_HOST_TIME || diff->basis == DIFF_BY_DEVICE_TIME;
    const char *what = by_time                        ? " in time"
                       : diff->basis == DIFF_BY_BYTES ? " in bytes moved"
                                                      : " in stalls or bytes moved";
    fprintf(to, "No difference%s that matters", others || !by_time ? what : "");
    if (by_time) {
        const struct spread *of = diff->figures[diff_time(diff)].of;
        char first[TIME_TEXT], second[TIME_TEXT];
        fprintf(to, ": %s per iteration, A %s", time_text(of[DIFF_B].median, second),
                time_text(of[DIFF_A].median, first));
    }
    if (verdict == DIFF_NOISE) fputs(", which is within the spread of iterations", to);
    if (others)
        fprintf(to, "; but %zu other row%s", others,
                others == 1 ? " of the tables differs" : "s of the tables differ");
}

void diff_headline(const struct diff *diff, FILE *to)
{
    enum diff_state verdict = diff_verdict(diff);
    bool by_time = diff->basis == DIFF_BY_HOST_TIME || diff->basis == DIFF_BY_DEVICE_TIME;
    if (!diff_matters(verdict)) {
        print_no_difference(diff, to);
    } else if (by_time) {
        print_lead(diff, diff_time(diff), to);
        print_parts(diff, to);
    } else {
        bool stall = diff_matters(diff->figures[FIGURE_STALLED].state);
        print_lead(diff, stall ? FIGURE_STALLED : FIGURE_MOVED, to);
    }
    fprintf(to, "%s.\n", reservation(diff));
}
