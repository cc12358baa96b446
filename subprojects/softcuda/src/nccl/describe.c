#include "describe.h"

#include "element.h"

const struct sc_work *sc_works_of(struct sc_rank *rank, const struct sc_parameters *parameters)
{
    if (!parameters->record) return parameters->works;
    const struct sc_record *record = sc_rank_find_record(rank, parameters->record);
    return record ? record->works : NULL;
}

static bool touch(struct sc_native_launch *launch, uint64_t address, uint64_t bytes, bool writes)
{
    struct sc_native_access access = {address, bytes, bytes, 1, !writes, writes};
    return launch->touch(launch, &access);
}

/* The blocks of `count` elements that a function reads and writes on this rank. */
static void spans_of(const struct sc_work *work, unsigned rank, unsigned ranks, uint64_t *reads,
                     uint64_t *writes)
{
    bool root = (unsigned)work->peer == rank;
    *reads = *writes = 1;
    switch (work->kind) {
    case SC_WORK_BROADCAST:
        *reads = root;
        *writes = !root || work->from != work->to;
        break;
    case SC_WORK_REDUCE:
        *writes = root;
        break;
    case SC_WORK_ALL_GATHER:
        *writes = ranks;
        break;
    case SC_WORK_REDUCE_SCATTER:
        *reads = ranks;
        break;
    case SC_WORK_ALL_TO_ALL:
        *reads = *writes = ranks;
        break;
    case SC_WORK_GATHER:
        *writes = root ? ranks : 0;
        break;
    case SC_WORK_SCATTER:
        *reads = root ? ranks : 0;
        break;
    case SC_WORK_SEND:
        *writes = 0;
        break;
    case SC_WORK_RECEIVE:
        *reads = 0;
        break;
    default:
        break;
    }
}

static bool describe_work(struct sc_native_launch *launch, const struct sc_work *work, unsigned rank,
                          unsigned ranks)
{
    uint64_t reads, writes, size = sc_type_bytes(work->type), block = work->count * size;
    spans_of(work, rank, ranks, &reads, &writes);
    /* Each rank reduces its part. */
    if (sc_work_reduces(work))
        launch->flops += work->kind == SC_WORK_REDUCE_SCATTER ? (ranks - 1) * work->count
                                                              : (ranks - 1) * work->count / ranks;
    return (!work->factor_is_address || touch(launch, work->factor, size, false)) &&
           touch(launch, work->from, reads * block, false) && touch(launch, work->to, writes * block, true);
}

bool sc_describe(struct sc_native_launch *launch)
{
    const struct sc_parameters *parameters = launch->parameters;
    struct sc_rank *rank = sc_rank_find(parameters->communicator);
    if (!rank) return true; /* then `run` fails */
    pthread_mutex_lock(&rank->lock);
    /* A record exists until a launch of it ends. */
    const struct sc_work *works =
        __atomic_load_n(&rank->aborted, __ATOMIC_SEQ_CST) ? NULL : sc_works_of(rank, parameters);
    pthread_mutex_unlock(&rank->lock);
    bool ok = true;
    for (uint32_t i = 0; works && i < parameters->count && ok; i++)
        ok = describe_work(launch, &works[i], parameters->rank, parameters->ranks);
    if (!ok) sc_rank_break(rank, ncclUnhandledCudaError);
    sc_rank_release(rank);
    return ok;
}
