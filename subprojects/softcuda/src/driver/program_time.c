#include "program_time.h"

#include <time.h>

bool sc_program_time_counts;

static _Atomic uint64_t total_ns;
static _Thread_local struct {
    uint64_t left_ns; /* when the thread returned to the program, by its own processor time */
    bool launches;
} here;

void sc_program_time_note(bool works_for_device)
{
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)) return;
    uint64_t ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    if (!works_for_device)
        here.left_ns = ns;
    else if (here.launches && here.left_ns && ns > here.left_ns)
        total_ns += ns - here.left_ns;
}

void sc_program_time_launched(void)
{
    here.launches = true;
}

uint64_t sc_program_time_ns(void)
{
    return total_ns;
}
