#include "tools/plan/plan_driver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/text/messages.h"

#define LEAST_GBS 0.001
#define MOST_GBS 1e6

enum { MEASURED, OF_SIM }; /* from OF_SIM on: sl_sim_drivers */
const char *const plan_driver_names[] = {"measured", "ideal", "580", NULL};

static uint64_t most_workers(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors > SL_SIM_WORKERS) return SL_SIM_WORKERS;
    return processors > 1 ? (uint64_t)processors : 1;
}

bool plan_take_driver(const struct plan_driver_words *words, struct sl_sim_driver *out, bool *measured)
{
    bool is_measured = words->driver == MEASURED && words->both_percent == PLAN_NOT_GIVEN;
    struct sl_sim_driver driver =
        sl_sim_drivers[words->driver == MEASURED ? PLAN_USUAL_DRIVER : words->driver - OF_SIM];
    if (words->both_percent != PLAN_NOT_GIVEN) {
        if (!words->both_percent || words->both_percent > 100)
            return usage_error("--both: a number from 1 to 100 is needed"), false;
        driver.both_percent = (uint32_t)words->both_percent;
    }
    if (words->workers != PLAN_NOT_GIVEN) {
        if (words->driver == MEASURED || !driver.workers)
            return usage_error("--workers needs --driver 580"), false;
        if (!words->workers || words->workers > most_workers())
            return usage_error("--workers: a number from 1 to %" PRIu64
                               ", the processors of this machine, is needed",
                               most_workers()),
                   false;
        driver.workers = (uint32_t)words->workers;
    }
    *out = driver;
    *measured = is_measured;
    return true;
}

void plan_print_driver(struct json *json, const struct sl_sim_driver *driver)
{
    json_text(json, "driver", sl_sim_driver_names[driver->number]);
    json_number(json, "both_percent", driver->both_percent);
    if (!driver->workers) return;
    json_number(json, "workers", driver->workers);
    json_number(json, "map_ns", driver->map_ns);
}

void plan_tell_driver(FILE *to, const struct sl_sim_driver *driver)
{
    if (!driver->workers) {
        fprintf(to,
                "A movement takes its bytes over the link's speed, or %" PRIu32
                " %% of it while both directions are in use: the driver ideal.\n",
                driver->both_percent);
        return;
    }
    fprintf(to,
            "Page tables take %.0f us for each 2 MiB to the host, %.0f us to the device, by %" PRIu32
            " thread%s: the driver %s.\n",
            driver->map_ns / 1e3, driver->unmap_ns / 1e3, driver->workers, driver->workers == 1 ? "" : "s",
            sl_sim_driver_names[driver->number]);
}

void plan_tell_clock(FILE *to)
{
    fputs(
        "Times are of the device: launches one after the other and their waits for data, without the host's "
        "time between calls.\n",
        to);
}

bool plan_take_speed(const char *word, uint64_t *bytes_per_s)
{
    char *end;
    errno = 0;
    double gbs = strtod(word, &end);
    bool valid = *word >= '0' && *word <= '9' && !*end && !errno && gbs >= LEAST_GBS && gbs <= MOST_GBS;
    if (valid) *bytes_per_s = (uint64_t)(gbs * 1e9);
    return valid;
}

static bool take(const char *option, const char *word, uint64_t *bytes_per_s)
{
    if (!word || plan_take_speed(word, bytes_per_s)) return true;
    usage_error("--%s %s is not allowed: it takes a speed from %g to %.0f", option, word, LEAST_GBS,
                MOST_GBS);
    return false;
}

bool plan_take_link(const struct plan_driver_words *words, uint64_t *in_bytes_per_s,
                    uint64_t *out_bytes_per_s)
{
    return take("link-in-gbs", words->link_in_gbs, in_bytes_per_s) &&
           take("link-out-gbs", words->link_out_gbs, out_bytes_per_s);
}
