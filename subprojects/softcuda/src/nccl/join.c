#include "join.h"

#include <stdlib.h>
#include <time.h>

#include "comm.h"
#include "errors.h"

/* Ranks that never join cannot be distinguished from slow ones. */
#define PATIENCE_S 600
#define SLEEP_MS 10

static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Whether a rank will neither publish its color nor read the others' any more. */
static bool is_lost(const struct sc_rank *rank, unsigned peer)
{
    uint32_t state = __atomic_load_n(&sc_rank_row(rank, peer)->state, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&rank->peers[peer].dead, __ATOMIC_ACQUIRE) || state == SC_ROW_LEFT ||
           state == SC_ROW_BROKEN;
}

/* Whether every rank has published its color for split `number` (`told`), or has read the colors of that
 * split. */
static ncclResult_t all_have(struct sc_rank *parent, bool told, uint64_t number)
{
    sc_rank_check(parent);
    ncclResult_t result = ncclSuccess;
    for (unsigned i = 0; i < parent->ranks; i++) {
        const struct sc_row *row = sc_rank_row(parent, i);
        bool lost = is_lost(parent, i);
        if (load(told ? &row->splits_posted : &row->splits_done) >= number) continue;
        if (lost) return sc_fail(ncclRemoteError, "rank %u is gone: the communicator cannot be split", i);
        result = ncclInProgress;
    }
    return result;
}

static void ring_all(struct sc_rank *rank)
{
    for (unsigned i = 0; i < rank->ranks; i++) sc_rank_ring(rank, i);
}

static ncclResult_t post(struct sc_join *join)
{
    struct sc_rank *parent = join->parent->rank;
    struct sc_row *row = sc_rank_row(parent, parent->rank);
    if (!join->split) {
        pthread_mutex_lock(&join->parent->lock);
        join->split = ++join->parent->splits;
        pthread_mutex_unlock(&join->parent->lock);
    }
    if (load(&row->splits_posted) + 1 != join->split) return ncclInProgress;
    if (join->split > SC_SPLITS) {
        ncclResult_t result = all_have(parent, false, join->split - SC_SPLITS);
        if (result) return result;
    }
    row->splits[join->split % SC_SPLITS] = (struct sc_split){join->split, join->color, join->order};
    __atomic_store_n(&row->splits_posted, join->split, __ATOMIC_SEQ_CST);
    join->step = SC_JOIN_COLLECT;
    ring_all(parent);
    return ncclSuccess;
}

/* Finds the ranks of the same color, ordered by key and then by rank. Splits are read in order, so that a
 * number identifies them. */
static ncclResult_t collect(struct sc_join *join)
{
    struct sc_rank *parent = join->parent->rank;
    struct sc_row *row = sc_rank_row(parent, parent->rank);
    if (load(&row->splits_done) + 1 != join->split) return ncclInProgress;
    ncclResult_t result = join->comm ? all_have(parent, true, join->split) : ncclSuccess;
    if (result) return result;
    join->rank = join->ranks = 0;
    for (unsigned i = 0; i < parent->ranks; i++) {
        struct sc_split split = sc_rank_row(parent, i)->splits[join->split % SC_SPLITS];
        if (split.color != join->color) continue;
        join->ranks++;
        join->rank += split.key < join->order || (split.key == join->order && i < parent->rank);
    }
    struct sc_key of_split = sc_key_derive(&parent->key, join->split);
    join->key = sc_key_derive(&of_split, (uint64_t)(uint32_t)join->color);
    __atomic_store_n(&row->splits_done, join->split, __ATOMIC_SEQ_CST);
    ring_all(parent);
    join->step = SC_JOIN_ATTACH;
    return ncclSuccess;
}

static ncclResult_t attach(struct sc_join *join)
{
    if (join->rank >= join->ranks || join->ranks > SC_MOST_RANKS)
        return sc_fail(ncclSystemError, "no more than %d ranks", SC_MOST_RANKS);
    join->step = SC_JOIN_COMPLETE;
    return sc_rank_attach(&join->key, join->ranks, join->rank, join->comm->device, &join->comm->rank);
}

ncclResult_t sc_join_advance(struct sc_join *join)
{
    for (;;) {
        ncclResult_t result;
        switch (join->step) {
        case SC_JOIN_POST:
            result = post(join);
            break;
        case SC_JOIN_COLLECT:
            result = collect(join);
            if (!result && !join->comm) return ncclSuccess;
            break;
        case SC_JOIN_ATTACH:
            result = attach(join);
            break;
        default:
            return sc_rank_completed(join->comm->rank);
        }
        if (result) return result;
    }
}

/* The rank whose bell rings when a waiting join may continue. */
static struct sc_rank *bell_of(const struct sc_join *join)
{
    return join->step == SC_JOIN_COMPLETE ? join->comm->rank : join->parent->rank;
}

/* Destroys a communicator that will not be created. */
static void give_up(struct sc_join *join, ncclComm_t *out)
{
    if (join->comm) {
        if (join->comm->rank) sc_rank_abort(join->comm->rank);
        sc_comm_free(join->comm);
    }
    if (out) *out = NULL;
}

static uint64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

/* Advances each join once; finished joins become NULL. Returns the first error; ncclInProgress: some joins
 * wait, one of them is *waits. */
static ncclResult_t advance_all(struct sc_join **joins, size_t count, struct sc_join **waits)
{
    *waits = NULL;
    for (size_t i = 0; i < count; i++) {
        struct sc_join *join = joins[i];
        if (!join) continue;
        ncclResult_t result = sc_join_advance(join);
        if (result == ncclInProgress && (!join->comm || join->comm->blocking)) {
            *waits = join;
        } else if (result == ncclInProgress) {
            continue;
        } else if (result) {
            return result;
        } else {
            free(join);
            joins[i] = NULL;
        }
    }
    return *waits ? ncclInProgress : ncclSuccess;
}

ncclResult_t sc_join_all(struct sc_join **joins, ncclComm_t **outs, size_t count)
{
    uint64_t until_s = now_s() + PATIENCE_S;
    ncclResult_t result;
    struct sc_join *waits;
    do {
        result = advance_all(joins, count, &waits);
        if (result != ncclInProgress) break;
        struct sc_rank *rank = bell_of(waits);
        sc_rank_sleep(rank, sc_rank_bell(rank), SLEEP_MS);
        if (now_s() >= until_s)
            result =
                sc_fail(ncclSystemError, "after %d s not all ranks of a communicator have come", PATIENCE_S);
    } while (result == ncclInProgress);
    for (size_t i = 0; i < count; i++) {
        if (result) {
            if (joins[i]) give_up(joins[i], outs[i]);
            free(joins[i]);
        } else if (joins[i]) {
            joins[i]->comm->join = joins[i];
        }
    }
    if (result) return result;
    for (size_t i = 0; i < count; i++)
        if (joins[i]) return ncclInProgress;
    return ncclSuccess;
}
