/* The driver and the link that `sluice plan` and `sluice advise` simulate, as given on the command line. */
#ifndef SLUICE_TOOL_PLAN_DRIVER_H
#define SLUICE_TOOL_PLAN_DRIVER_H

#include <stdio.h>

#include "tools/sim/sim_driver.h"
#include "tools/text/json.h"

#define PLAN_NOT_GIVEN UINT64_MAX

struct plan_driver_words {
    unsigned driver;                        /* an index of plan_driver_names */
    const char *link_in_gbs, *link_out_gbs; /* or NULL */
    uint64_t both_percent, workers;         /* or PLAN_NOT_GIVEN */
};
#define PLAN_USUAL_DRIVER SL_SIM_580 /* where nothing was measured */
#define PLAN_USUAL_DRIVER_WORDS                                                                              \
    {                                                                                                        \
        .both_percent = PLAN_NOT_GIVEN, .workers = PLAN_NOT_GIVEN                                            \
    }

/* The rows of the command's options, and their descriptions. */
#define PLAN_DRIVER_OPTIONS(given)                                                                           \
    {"driver", OPTION_WORD, &(given).driver, .words = plan_driver_names,                                     \
     .help = "What it costs to move memory. measured, the default: what it cost the traced run; as 580 "     \
             "where it did not move enough to tell. ideal: bytes over speed. 580: the work of NVIDIA's "     \
             "driver of that number on page tables, too."},                                                  \
        {"workers", OPTION_NUMBER, &(given).workers, "N",                                                    \
         "With --driver 580: number of threads that move memory (1: the driver's own)."},                    \
        {"link-in-gbs", OPTION_TEXT, &(given).link_in_gbs, "SPEED",                                          \
         "Speed of the link to the device alone, in GB/s, in place of that of --link-gbs."},                 \
        {"link-out-gbs", OPTION_TEXT, &(given).link_out_gbs, "SPEED", "The same from the device."},          \
    {                                                                                                        \
        "both", OPTION_NUMBER, &(given).both_percent, "PERCENT",                                             \
            "Speed of each direction while both are in use, in per cent of its speed alone (the driver's: "  \
            "92 of ideal, 75 of 580)."                                                                       \
    }

/* "measured", and those of sl_sim_driver_names. */
extern const char *const plan_driver_names[];

/* Sets *out; *measured: it is for traces that say nothing. False: an error was printed on stderr. */
bool plan_take_driver(const struct plan_driver_words *words, struct sl_sim_driver *out, bool *measured);

/* Writes its name and what of it can be chosen. */
void plan_print_driver(struct json *json, const struct sl_sim_driver *driver);

/* Says it in a sentence. */
void plan_tell_driver(FILE *to, const struct sl_sim_driver *driver);

/* Says in a sentence what the step times of a replay are of. */
void plan_tell_clock(FILE *to);

/* Reads a speed in GB/s. False: it is not one. */
bool plan_take_speed(const char *word, uint64_t *bytes_per_s);

/* Sets the speeds that were given; the others stay. False: an error was printed on stderr. */
bool plan_take_link(const struct plan_driver_words *words, uint64_t *in_bytes_per_s,
                    uint64_t *out_bytes_per_s);

#endif
