#include "tools/analyses/clocks.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The distance of two moments, exact also where both are large. */
static double from_to(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns >= from_ns ? (double)(to_ns - from_ns) : -(double)(from_ns - to_ns);
}

/* The median slope between pairs that lie half of all pairs apart (Theil 1950, the incomplete form). */
static double find_drift(const uint64_t *own_ns, const uint64_t *reference_ns, size_t count, double *values)
{
    size_t half = count / 2, used = 0;
    for (size_t i = 0; i + half < count; i++) {
        double own = from_to(own_ns[i], own_ns[i + half]);
        if (own > 0) values[used++] = from_to(reference_ns[i], reference_ns[i + half]) / own - 1;
    }
    return used ? median(values, used) : 0;
}

bool clock_fit(const uint64_t *own_ns, const uint64_t *reference_ns, size_t count, struct clock_fit *out)
{
    double *values = count ? calloc(count, sizeof(*values)) : NULL;
    if (!values) return false;
    struct clock_fit fit = {.origin_ns = own_ns[0], .pairs = count};
    if (count >= CLOCK_DRIFT_PAIRS) fit.drift = find_drift(own_ns, reference_ns, count, values);
    for (size_t i = 0; i < count; i++)
        values[i] = from_to(own_ns[i], reference_ns[i]) - fit.drift * from_to(fit.origin_ns, own_ns[i]);
    fit.offset_ns = median(values, count);
    for (size_t i = 0; i < count; i++) values[i] = fabs(values[i] - fit.offset_ns);
    fit.scatter_ns = (uint64_t)median(values, count);
    free(values);
    *out = fit;
    return true;
}

uint64_t clock_on_reference(const struct clock_fit *fit, uint64_t own_ns)
{
    double shift = fit->offset_ns + fit->drift * from_to(fit->origin_ns, own_ns);
    if (shift >= 0) return own_ns + (uint64_t)shift;
    uint64_t back = (uint64_t)-shift;
    return own_ns > back ? own_ns - back : 0;
}
