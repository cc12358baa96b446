#include "hold.h"

#include <time.h>

static void CUDA_CB wait_for_release(void *argument)
{
    struct hold *hold = argument;
    const struct timespec pause = {0, 100000};
    while (!hold->released) {
        if (now_seconds() > hold->give_up_seconds) {
            hold->gave_up = true;
            return;
        }
        nanosleep(&pause, NULL);
    }
}

void hold_begin(struct hold *hold, CUstream stream, double seconds)
{
    hold->stream = stream;
    hold->give_up_seconds = now_seconds() + seconds;
    hold->released = hold->gave_up = false;
    MUST(cu.cuLaunchHostFunc(stream, wait_for_release, hold));
}

bool hold_end(struct hold *hold)
{
    bool gave_up = hold->gave_up;
    hold->released = true;
    MUST(cu.cuStreamSynchronize(hold->stream));
    return gave_up;
}
