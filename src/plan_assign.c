#include "plan_internal.h"

#include <stdlib.h>
#include <string.h>

/* Orders the releases by moment, those without a copy first (their frames are free at once), else as chosen,
 * and makes the requests name the new places. `bounds` has room for two counters for each moment and one
 * more. */
static void sort_releases(struct sl_choice *choice, struct sl_release *sorted, uint32_t *place,
                          uint32_t *bounds, size_t moments)
{
    memset(bounds, 0, (2 * moments + 1) * sizeof *bounds);
    for (uint32_t i = 0; i < choice->release_count; i++)
        bounds[2 * choice->releases[i].moment + choice->releases[i].copy + 1]++;
    for (size_t i = 1; i <= 2 * moments; i++) bounds[i] += bounds[i - 1];
    for (uint32_t i = 0; i < choice->release_count; i++) {
        place[i] = bounds[2 * choice->releases[i].moment + choice->releases[i].copy]++;
        sorted[place[i]] = choice->releases[i];
    }
    memcpy(choice->releases, sorted, choice->release_count * sizeof *sorted);
    for (uint32_t i = 0; i < choice->request_count; i++)
        if (choice->requests[i].release != SL_NONE)
            choice->requests[i].release = place[choice->requests[i].release];
}

/* Frames go to the requests in the order of their deadlines: each waits for as many releases as the bytes of
 * all requests up to it need, and for its own chunk's. So whatever has been started, the frames it takes are
 * among those free. */
static void give_frames(const struct sl_plan_input *in, struct sl_choice *choice)
{
    int64_t room = choice->room_bytes;
    uint32_t used = 0;
    for (uint32_t i = 0; i < choice->request_count; i++) {
        struct sl_request *request = &choice->requests[i];
        room -= (int64_t)in->chunk_bytes[request->chunk];
        while (room < 0 && used < choice->release_count) {
            struct sl_release *release = &choice->releases[used++];
            release->launch = request->launch;
            room += (int64_t)in->chunk_bytes[release->chunk];
        }
        if (used && (request->release == SL_NONE || request->release < used - 1)) request->release = used - 1;
    }
}

/* A fetch starts as soon as its frame is free. A chunk without content waits for its launch: before that the
 * program may not even have asked for it. */
static uint32_t moment_of(const struct sl_choice *choice, const struct sl_request *request)
{
    if (!request->copy) return request->launch;
    return request->release == SL_NONE ? 0 : choice->releases[request->release].moment;
}

/* Merges releases and requests by moment, the releases of a moment first. `bounds` has room for a counter for
 * each moment and one more, `place` for one for each release. */
static void write_actions(const struct sl_plan_input *in, const struct sl_choice *choice,
                          struct sl_plan *plan, uint32_t *place, uint32_t *bounds, size_t moments)
{
    memset(bounds, 0, (moments + 1) * sizeof *bounds);
    for (uint32_t i = 0; i < choice->release_count; i++) bounds[choice->releases[i].moment + 1]++;
    for (uint32_t i = 0; i < choice->request_count; i++)
        bounds[moment_of(choice, &choice->requests[i]) + 1]++;
    for (size_t i = 1; i <= moments; i++) bounds[i] += bounds[i - 1];
    for (uint32_t i = 0; i < choice->release_count; i++) {
        const struct sl_release *release = &choice->releases[i];
        place[i] = bounds[release->moment]++;
        plan->actions[place[i]] = (struct sl_plan_action){
            .kind = release->copy ? SL_ACTION_EVICT : SL_ACTION_DROP,
            .chunk = release->chunk,
            .after = in->first_tick + release->moment - 1,
            .deadline = in->first_tick + release->launch,
            .frame_from = SL_NO_ACTION,
        };
        if (release->copy) plan->bytes_out += in->chunk_bytes[release->chunk];
    }
    for (uint32_t i = 0; i < choice->request_count; i++) {
        const struct sl_request *request = &choice->requests[i];
        uint32_t moment = moment_of(choice, request);
        plan->actions[bounds[moment]++] = (struct sl_plan_action){
            .kind = request->copy ? SL_ACTION_FETCH : SL_ACTION_POPULATE,
            .chunk = request->chunk,
            .after = in->first_tick + moment - 1,
            .deadline = in->first_tick + request->launch,
            .frame_from = request->release == SL_NONE ? SL_NO_ACTION : place[request->release],
        };
        if (request->copy) plan->bytes_in += in->chunk_bytes[request->chunk];
    }
}

enum sl_status sl_plan_assign(const struct sl_plan_input *in, struct sl_choice *choice, struct sl_plan *plan)
{
    size_t moments = in->launch_count + 1, count = (size_t)choice->release_count + choice->request_count;
    struct sl_release *sorted = malloc((choice->release_count + 1) * sizeof *sorted);
    uint32_t *place = malloc((choice->release_count + 1) * sizeof *place);
    uint32_t *bounds = malloc((2 * moments + 1) * sizeof *bounds);
    plan->actions = malloc((count + 1) * sizeof *plan->actions);
    bool complete = sorted && place && bounds && plan->actions;
    if (complete) {
        sort_releases(choice, sorted, place, bounds, moments);
        give_frames(in, choice);
        write_actions(in, choice, plan, place, bounds, moments);
        plan->action_count = count;
        plan->oversize_launches = choice->oversize_launches;
    }
    free(bounds);
    free(place);
    free(sorted);
    return complete ? SL_OK : SL_ERR_NO_MEMORY;
}
