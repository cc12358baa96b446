/* The help of the screen. */
#include "tools/top/top_lines.h"

void top_write_help(struct top_lines *lines)
{
    static const char *const texts[] = {
        "keys      q ends, space pauses, arrows and pages scroll, ? shows and leaves this",
        "memory    what fills the budget. lasting: allocated before the last whole step (parameters, "
        "optimizer "
        "state); idle: the same, and no launch has used its chunks since that step began; temporary: "
        "allocated "
        "later (activations); unused: on the device, but in no allocation",
        "step      the last whole step. Stalls, in which launches wait for data, are on the device's clock, "
        "so a "
        "step that has some is shown by that clock, too. A software device simulates it",
        "steps     how long the steps since this screen began took, newest last",
        "in, out   copies to the device and to the host, and the speed of the link while both run. plan: "
        "ahead "
        "of their use; demand: when a launch needed the data; late: planned, but not there in time",
        "plan      followed, being made, or why there is none; how many launches, allocations and frees came "
        "as "
        "predicted",
        "misses    what came on demand or late, and how often the program did something else than predicted",
        "host      host memory that the data takes, and may take",
        "",
        "sluice help top says more; docs/guide.md says what to do about stalls and misses.",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) top_line(lines, STYLE_NONE, "%s", texts[i]);
}
