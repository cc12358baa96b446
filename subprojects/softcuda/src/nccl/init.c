/* Creation of communicators. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "errors.h"
#include "gate.h"
#include "group.h"

#define ID_MAGIC UINT64_C(0x6469716e75636373)
#define CONFIG_MAGIC 0xcafebeefu

struct id {
    uint64_t magic;
    struct sc_key key;
    uint8_t rest[NCCL_UNIQUE_ID_BYTES - 40];
};
_Static_assert(sizeof(struct id) == sizeof(ncclUniqueId), "an id in the program's hands");

ncclResult_t ncclGetUniqueId(ncclUniqueId *out)
{
    struct id id = {.magic = ID_MAGIC};
    if (!out) return sc_fail(ncclInvalidArgument, "ncclGetUniqueId: no place for the id");
    if (getrandom(&id.key, sizeof id.key, 0) != (ssize_t)sizeof id.key)
        return sc_fail(ncclSystemError, "ncclGetUniqueId: no random numbers");
    memcpy(out, &id, sizeof id);
    return ncclSuccess;
}

/* Older versions of the structure are shorter, but contain at least `blocking`. */
static ncclResult_t read_config(const ncclConfig_t *config, bool parents, bool *blocking)
{
    *blocking = parents;
    if (!config) return ncclSuccess;
    if (config->magic != CONFIG_MAGIC || config->size < offsetof(ncclConfig_t, cgaClusterSize))
        return sc_fail(ncclInvalidArgument,
                       "a configuration that NCCL_CONFIG_INITIALIZER has not initialized");
    int wanted = config->blocking;
    if (wanted != 0 && wanted != 1 && wanted != NCCL_CONFIG_UNDEF_INT)
        return sc_fail(ncclInvalidArgument, "`blocking` of a configuration is %d, not 0 or 1", wanted);
    if (wanted != NCCL_CONFIG_UNDEF_INT) *blocking = wanted;
    return ncclSuccess;
}

/* Creates a join, with a new communicator if this rank is a member. */
static ncclResult_t make_join(bool member, bool blocking, struct sc_join **out)
{
    struct sc_join *join = calloc(1, sizeof *join);
    if (!join) return sc_fail(ncclSystemError, "no memory for a communicator");
    ncclResult_t result = member ? sc_comm_create(blocking, &join->comm) : ncclSuccess;
    if (result) {
        free(join);
        return result;
    }
    *out = join;
    return ncclSuccess;
}

static ncclResult_t init(ncclComm_t *out, int ranks, int rank, const ncclUniqueId *ids, int id_count,
                         const ncclConfig_t *config)
{
    if (!out || !ids || id_count < 1)
        return sc_fail(ncclInvalidArgument, "no id, or no place for a communicator");
    *out = NULL;
    if (ranks < 1 || rank < 0 || rank >= ranks)
        return sc_fail(ncclInvalidArgument, "rank %d of %d ranks", rank, ranks);
    if (ranks > SC_MOST_RANKS) return sc_fail(ncclInvalidUsage, "no more than %d ranks", SC_MOST_RANKS);
    struct sc_key key = {{0}};
    for (int i = 0; i < id_count; i++) {
        struct id id;
        memcpy(&id, &ids[i], sizeof id);
        if (id.magic != ID_MAGIC) return sc_fail(ncclInvalidArgument, "not an id of ncclGetUniqueId");
        /* Prevents equal ids from cancelling each other. */
        if (i) key = sc_key_derive(&key, (uint64_t)i);
        for (int k = 0; k < 4; k++) key.words[k] ^= id.key.words[k];
    }
    bool blocking;
    struct sc_join *join = NULL;
    ncclResult_t result = read_config(config, true, &blocking);
    if (!result) result = make_join(true, blocking, &join);
    if (result) return result;
    join->step = SC_JOIN_ATTACH;
    join->key = key;
    join->ranks = (unsigned)ranks;
    join->rank = (unsigned)rank;
    return sc_group_add_join(join, out);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *out, int ranks, int rank, int id_count, ncclUniqueId *ids,
                                      ncclConfig_t *config)
{
    return sc_group_fail(init(out, ranks, rank, ids, id_count, config));
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    return sc_group_fail(init(out, ranks, rank, &id, 1, config));
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int ranks, ncclUniqueId id, int rank)
{
    return sc_group_fail(init(out, ranks, rank, &id, 1, NULL));
}

/* Checks that no device occurs twice. */
static ncclResult_t check_devices(int ranks, const int *devices)
{
    int have = 0;
    ncclResult_t result = sc_gate_open();
    if (!result) result = sc_gate_device_count(&have);
    if (result) return sc_fail(result, "ncclCommInitAll: no CUDA device");
    if (!devices && ranks > have)
        return sc_fail(ncclInvalidArgument, "ncclCommInitAll: %d ranks, %d devices", ranks, have);
    for (int i = 0; devices && i < ranks; i++) {
        if (devices[i] < 0 || devices[i] >= have)
            return sc_fail(ncclInvalidArgument, "ncclCommInitAll: there is no device %d", devices[i]);
        for (int k = 0; k < i; k++)
            if (devices[k] == devices[i])
                return sc_fail(ncclInvalidUsage, "ncclCommInitAll: device %d twice", devices[i]);
    }
    return ncclSuccess;
}

ncclResult_t ncclCommInitAll(ncclComm_t *out, int ranks, const int *devices)
{
    ncclUniqueId id;
    if (!out || ranks < 1) return sc_fail(ncclInvalidArgument, "ncclCommInitAll: %d ranks", ranks);
    ncclResult_t result = check_devices(ranks, devices);
    if (!result) result = ncclGetUniqueId(&id);
    if (result) return result;
    ncclGroupStart();
    for (int i = 0; i < ranks && !result; i++) {
        CUcontext before;
        result = sc_gate_enter_device(devices ? devices[i] : i, &before);
        if (result) break;
        result = init(&out[i], ranks, i, &id, 1, NULL);
        sc_gate_leave(before);
    }
    sc_group_fail(result);
    ncclResult_t end = ncclGroupEnd();
    return result ? result : end;
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t *out, ncclConfig_t *config)
{
    bool blocking;
    struct sc_join *join = NULL;
    ncclResult_t result = sc_comm_check(parent, "ncclCommSplit");
    if (result) return sc_group_fail(result);
    if (!out || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
        return sc_group_fail(sc_fail(ncclInvalidArgument, "ncclCommSplit: color %d", color));
    *out = NULL;
    /* A revoked communicator can still be split. */
    bool revoked = parent->revoked;
    result = revoked ? ncclSuccess : sc_comm_ready(parent, "ncclCommSplit");
    if (!result) result = read_config(config, parent->blocking, &blocking);
    if (!result) result = make_join(color != NCCL_SPLIT_NOCOLOR, blocking, &join);
    if (result) return sc_group_fail(result);
    join->step = SC_JOIN_POST;
    join->parent = parent;
    join->color = color;
    join->order = key;
    if (join->comm) {
        join->comm->context = parent->context;
        join->comm->device = parent->device;
    }
    return sc_group_add_join(join, out);
}

/* How often this set of ranks was kept before; all of them count alike. 0: no memory. */
static uint64_t count_shrink(ncclComm_t parent, uint64_t set)
{
    pthread_mutex_lock(&parent->lock);
    struct sc_shrunk *shrunk = parent->shrunk;
    while (shrunk && shrunk->set != set) shrunk = shrunk->next;
    if (!shrunk && (shrunk = calloc(1, sizeof *shrunk)) != NULL) {
        shrunk->set = set;
        shrunk->next = parent->shrunk;
        parent->shrunk = shrunk;
    }
    uint64_t times = shrunk ? ++shrunk->times : 0;
    pthread_mutex_unlock(&parent->lock);
    return times;
}

/* Determines the remaining ranks: their number, this rank's place among them, and a key that only they
 * have. */
static ncclResult_t choose(ncclComm_t parent, const int *excluded, int count, struct sc_join *join)
{
    const struct sc_rank *rank = parent->rank;
    bool out[SC_MOST_RANKS] = {false};
    for (int i = 0; i < count; i++) {
        if (excluded[i] < 0 || (unsigned)excluded[i] >= rank->ranks || (unsigned)excluded[i] == rank->rank)
            return sc_fail(ncclInvalidArgument, "ncclCommShrink: rank %d cannot be left out", excluded[i]);
        out[excluded[i]] = true;
    }
    struct sc_key key = sc_key_derive(&rank->key, UINT64_MAX);
    for (unsigned i = 0; i < rank->ranks; i++) {
        if (out[i]) continue;
        key = sc_key_derive(&key, i);
        join->rank += i < rank->rank;
        join->ranks++;
    }
    uint64_t times = count_shrink(parent, key.words[3]);
    if (!times) return sc_fail(ncclSystemError, "no memory for a communicator");
    join->key = sc_key_derive(&key, times);
    return ncclSuccess;
}

ncclResult_t ncclCommShrink(ncclComm_t parent, int *excluded, int count, ncclComm_t *out,
                            ncclConfig_t *config, int flags)
{
    bool blocking;
    struct sc_join *join = NULL;
    ncclResult_t result = sc_comm_check(parent, "ncclCommShrink");
    if (result) return sc_group_fail(result);
    if (!out || count < 1 || !excluded || (flags & ~NCCL_SHRINK_ABORT))
        return sc_group_fail(sc_fail(ncclInvalidArgument, "ncclCommShrink: %d ranks left out", count));
    *out = NULL;
    if (!parent->rank) return sc_group_fail(sc_comm_ready(parent, "ncclCommShrink"));
    if (flags & NCCL_SHRINK_ABORT) {
        parent->revoked = true;
        sc_rank_revoke(parent->rank);
    } else if (!parent->revoked) {
        result = sc_comm_ready(parent, "ncclCommShrink");
    }
    if (!result) result = read_config(config, parent->blocking, &blocking);
    if (!result) result = make_join(true, blocking, &join);
    if (result) return sc_group_fail(result);
    join->comm->context = parent->context;
    join->comm->device = parent->device;
    join->step = SC_JOIN_ATTACH;
    result = choose(parent, excluded, count, join);
    if (!result) return sc_group_add_join(join, out);
    sc_comm_free(join->comm);
    free(join);
    return sc_group_fail(result);
}
