#include "group.h"

#include <stdlib.h>
#include <string.h>

#include "enqueue.h"
#include "errors.h"

struct pending {
    ncclComm_t comm;
    CUstream stream;
    struct sc_work work;
};

struct group {
    unsigned depth;
    ncclResult_t error;
    struct pending *works;
    size_t work_count, work_room;
    struct sc_join **joins;
    ncclComm_t **outs;
    size_t join_count, join_room;
};

static _Thread_local struct group group;

/* Makes room for one more; false: no memory. */
static bool grow(void **array, size_t size, size_t count, size_t room)
{
    if (count < room) return true;
    void *larger = realloc(*array, (room ? 2 * room : 16) * size);
    if (larger) *array = larger;
    return larger;
}

ncclResult_t sc_group_fail(ncclResult_t result)
{
    if (group.depth && !group.error) group.error = result;
    return result;
}

static ncclResult_t end_group(void)
{
    if (--group.depth) return group.error;
    struct group whole = group;
    memset(&group, 0, sizeof group);
    ncclResult_t result = whole.error;
    if (whole.error) {
        for (size_t i = 0; i < whole.join_count; i++) {
            if (whole.joins[i]->comm) sc_comm_free(whole.joins[i]->comm);
            *whole.outs[i] = NULL;
            free(whole.joins[i]);
        }
    } else if (whole.join_count) {
        result = sc_join_all(whole.joins, whole.outs, whole.join_count);
    }
    bool go = !result || result == ncclInProgress;
    for (size_t i = 0; i < whole.work_count && go; i++) {
        struct sc_enqueue enqueue = {.comm = whole.works[i].comm};
        if (!enqueue.comm) continue; /* already in an earlier launch */
        ncclResult_t one = ncclSuccess;
        for (size_t k = i; k < whole.work_count && !one; k++) {
            if (whole.works[k].comm != enqueue.comm) continue;
            one = sc_enqueue_add(&enqueue, whole.works[k].stream, &whole.works[k].work);
            whole.works[k].comm = NULL;
        }
        if (!one) one = sc_enqueue_launch(&enqueue);
        sc_enqueue_free(&enqueue);
        go = !one;
        if (one) result = one;
    }
    free(whole.works);
    free(whole.joins);
    free(whole.outs);
    return result;
}

ncclResult_t sc_group_add_join(struct sc_join *join, ncclComm_t *out)
{
    group.depth++;
    bool room = grow((void **)&group.joins, sizeof *group.joins, group.join_count, group.join_room) &&
                grow((void **)&group.outs, sizeof *group.outs, group.join_count, group.join_room);
    if (room) {
        if (group.join_count == group.join_room) group.join_room = group.join_room ? 2 * group.join_room : 16;
        group.joins[group.join_count] = join;
        group.outs[group.join_count++] = out;
        *out = join->comm;
    } else {
        if (join->comm) sc_comm_free(join->comm);
        free(join);
        sc_group_fail(sc_fail(ncclSystemError, "no memory for a group"));
    }
    return end_group();
}

ncclResult_t sc_group_add_work(ncclComm_t comm, CUstream stream, const struct sc_work *work)
{
    group.depth++;
    if (grow((void **)&group.works, sizeof *group.works, group.work_count, group.work_room)) {
        if (group.work_count == group.work_room) group.work_room = group.work_room ? 2 * group.work_room : 16;
        group.works[group.work_count++] = (struct pending){comm, stream, *work};
    } else {
        sc_group_fail(sc_fail(ncclSystemError, "no memory for a group"));
    }
    return end_group();
}

ncclResult_t ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (!group.depth) return sc_fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
    return end_group();
}
