#include "clock.h"

#include <math.h>

void clock_begin(struct clock *clock, const struct probe *probe)
{
    *clock = (struct clock){.probe = probe};
    if (!probe->origin) return;
    clock->stream = stream_new();
    clock->event = event_new();
}

void clock_end(struct clock *clock)
{
    if (!clock->probe->origin) return;
    MUST(cu.cuEventDestroy(clock->event));
    MUST(cu.cuStreamDestroy(clock->stream));
}

double clock_seconds(const struct clock *clock)
{
    if (!clock->probe->origin) return now_seconds();
    MUST(cu.cuEventRecord(clock->event, clock->stream));
    return elapsed_seconds(clock->probe->origin, clock->event);
}

void turns_begin(struct turns *turns, int count)
{
    *turns = (struct turns){.count = count};
    pthread_mutex_init(&turns->lock, NULL);
    pthread_cond_init(&turns->changed, NULL);
}

/* pre: the lock is held. */
static bool is_first(const struct turns *turns, int index)
{
    for (int i = 0; i < turns->count; i++)
        if (turns->at[i] < turns->at[index] || (turns->at[i] == turns->at[index] && i < index)) return false;
    return true;
}

void turns_take(struct turns *turns, int index, double seconds)
{
    pthread_mutex_lock(&turns->lock);
    turns->at[index] = seconds;
    pthread_cond_broadcast(&turns->changed);
    while (!is_first(turns, index)) pthread_cond_wait(&turns->changed, &turns->lock);
    pthread_mutex_unlock(&turns->lock);
}

void turns_leave(struct turns *turns, int index)
{
    pthread_mutex_lock(&turns->lock);
    turns->at[index] = INFINITY;
    pthread_cond_broadcast(&turns->changed);
    pthread_mutex_unlock(&turns->lock);
}

void turns_end(struct turns *turns)
{
    pthread_mutex_destroy(&turns->lock);
    pthread_cond_destroy(&turns->changed);
}
