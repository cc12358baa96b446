#include "rank.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"

static struct {
    pthread_mutex_t lock;
    struct sc_rank *first;
    uint64_t last_number;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void add_to_all(struct sc_rank *rank)
{
    pthread_mutex_lock(&all.lock);
    rank->number = ++all.last_number;
    rank->next = all.first;
    all.first = rank;
    pthread_mutex_unlock(&all.lock);
}

static void remove_from_all(struct sc_rank *rank)
{
    pthread_mutex_lock(&all.lock);
    struct sc_rank **at = &all.first;
    while (*at && *at != rank) at = &(*at)->next;
    if (*at) *at = rank->next;
    pthread_mutex_unlock(&all.lock);
}

struct sc_rank *sc_rank_find(uint64_t number)
{
    pthread_mutex_lock(&all.lock);
    struct sc_rank *rank = all.first;
    while (rank && (rank->number != number || rank->destroyed)) rank = rank->next;
    if (rank) {
        pthread_mutex_lock(&rank->lock);
        rank->references++;
        pthread_mutex_unlock(&rank->lock);
    }
    pthread_mutex_unlock(&all.lock);
    return rank;
}

static void wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void sc_rank_ring(const struct sc_rank *rank, unsigned peer)
{
    struct sc_row *row = sc_rank_row(rank, peer);
    __atomic_fetch_add(&row->bell, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&row->sleepers, __ATOMIC_SEQ_CST)) wake(&row->bell);
}

static void ring_all(const struct sc_rank *rank)
{
    for (unsigned peer = 0; peer < rank->ranks; peer++) sc_rank_ring(rank, peer);
}

uint32_t sc_rank_bell(const struct sc_rank *rank)
{
    return __atomic_load_n(&sc_rank_row(rank, rank->rank)->bell, __ATOMIC_ACQUIRE);
}

void sc_rank_sleep(const struct sc_rank *rank, uint32_t seen, unsigned most_ms)
{
    struct sc_row *row = sc_rank_row(rank, rank->rank);
    struct timespec most = {most_ms / 1000, (long)(most_ms % 1000) * 1000000};
    __atomic_fetch_add(&row->sleepers, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &row->bell, FUTEX_WAIT, seen, &most, NULL, 0);
    __atomic_fetch_sub(&row->sleepers, 1, __ATOMIC_SEQ_CST);
}

static void set_state(const struct sc_rank *rank, enum sc_row_state state)
{
    __atomic_store_n(&sc_rank_row(rank, rank->rank)->state, state, __ATOMIC_RELEASE);
    ring_all(rank);
}

static ncclResult_t result_of(enum sc_segment_status status)
{
    switch (status) {
    case SC_SEGMENT_OK:
        return ncclSuccess;
    case SC_SEGMENT_MISMATCH:
        return sc_fail(ncclInvalidUsage,
                       "the shared memory of this communicator has another number of ranks, "
                       "or is of another version");
    case SC_SEGMENT_NO_ROOM:
        return sc_fail(ncclSystemError, "no room for shared memory in /dev/shm");
    default:
        return sc_fail(ncclSystemError, "shared memory in /dev/shm: %s", strerror(errno));
    }
}

static ncclResult_t take_row(struct sc_rank *rank, int device)
{
    struct sc_row *row = sc_rank_row(rank, rank->rank);
    uint64_t nobody = 0;
    if (!__atomic_compare_exchange_n(&row->owner, &nobody, sc_liveness_self(), false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return sc_fail(ncclInvalidUsage, "rank %u of a communicator came twice", rank->rank);
    row->device = device;
    set_state(rank, SC_ROW_HERE);
    uint32_t *attached = &sc_segment_header(&rank->segment)->attached;
    if (__atomic_add_fetch(attached, 1, __ATOMIC_SEQ_CST) == rank->ranks) {
        sc_segment_unlink(&rank->segment);
        ring_all(rank);
    }
    return ncclSuccess;
}

ncclResult_t sc_rank_attach(const struct sc_key *key, unsigned ranks, unsigned rank, int device,
                            struct sc_rank **out)
{
    sc_segment_reclaim();
    struct sc_rank *made = calloc(1, sizeof *made + ranks * sizeof made->peers[0]);
    if (!made) return sc_fail(ncclSystemError, "no memory for a communicator");
    made->rank = rank;
    made->ranks = ranks;
    made->key = *key;
    made->process = getpid();
    made->references = 1;
    for (unsigned i = 0; i < ranks; i++) made->peers[i].watched.file = -1;
    ncclResult_t result = result_of(sc_segment_open(key, ranks, &made->segment));
    if (!result) result = take_row(made, device);
    if (result) {
        sc_segment_close(&made->segment);
        free(made);
        return result;
    }
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    add_to_all(made);
    *out = made;
    return ncclSuccess;
}

void sc_rank_note(struct sc_rank *rank, ncclResult_t error)
{
    int none = ncclSuccess;
    __atomic_compare_exchange_n(&rank->error, &none, error, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

ncclResult_t sc_rank_check(struct sc_rank *rank)
{
    pthread_mutex_lock(&rank->lock);
    for (unsigned i = 0; i < rank->ranks; i++) {
        struct sc_peer *peer = &rank->peers[i];
        struct sc_row *row = sc_rank_row(rank, i);
        if (!peer->watched.owner)
            sc_liveness_watch(__atomic_load_n(&row->owner, __ATOMIC_ACQUIRE), &peer->watched);
        if (__atomic_load_n(&peer->dead, __ATOMIC_RELAXED) || !sc_liveness_is_dead(&peer->watched)) continue;
        __atomic_store_n(&peer->dead, true, __ATOMIC_RELEASE);
        if (__atomic_load_n(&row->state, __ATOMIC_ACQUIRE) == SC_ROW_LEFT) continue;
        sc_rank_note(rank,
                     sc_fail(ncclRemoteError, "rank %u of a communicator: the process of rank %u is dead",
                             rank->rank, i));
    }
    pthread_mutex_unlock(&rank->lock);
    return (ncclResult_t)__atomic_load_n(&rank->error, __ATOMIC_ACQUIRE);
}

bool sc_rank_is_gone(const struct sc_rank *rank, unsigned peer)
{
    return __atomic_load_n(&rank->peers[peer].dead, __ATOMIC_ACQUIRE) ||
           __atomic_load_n(&sc_rank_row(rank, peer)->state, __ATOMIC_ACQUIRE) > SC_ROW_HERE;
}

ncclResult_t sc_rank_completed(struct sc_rank *rank)
{
    /* Checked before the count: a rank may have left since all ranks attached. */
    ncclResult_t result = sc_rank_check(rank);
    unsigned gone = 0;
    while (gone < rank->ranks && (gone == rank->rank || !sc_rank_is_gone(rank, gone))) gone++;
    uint32_t *attached = &sc_segment_header(&rank->segment)->attached;
    if (__atomic_load_n(attached, __ATOMIC_SEQ_CST) >= rank->ranks) {
        rank->complete = true;
        return ncclSuccess;
    }
    if (result) return result;
    if (gone == rank->ranks) return ncclInProgress;
    sc_rank_note(rank, ncclRemoteError);
    return sc_fail(ncclRemoteError, "rank %u gave up before all ranks of its communicator came", gone);
}

/* Frees what only launches need. pre: no references, so there are no more launches. */
static void empty(struct sc_rank *rank)
{
    pthread_mutex_lock(&rank->lock);
    for (unsigned i = 0; i < rank->ranks; i++) sc_liveness_forget(&rank->peers[i].watched);
    sc_segment_close(&rank->segment);
    while (rank->records) {
        struct sc_record *next = rank->records->next;
        free(rank->records);
        rank->records = next;
    }
    pthread_mutex_unlock(&rank->lock);
}

static void free_rank(struct sc_rank *rank)
{
    /* The number of an aborted rank stays valid. */
    if (rank->destroyed) remove_from_all(rank);
    if (!__atomic_load_n(&rank->aborted, __ATOMIC_SEQ_CST)) set_state(rank, SC_ROW_LEFT);
    empty(rank);
    if (!rank->destroyed) return;
    pthread_mutex_destroy(&rank->lock);
    pthread_cond_destroy(&rank->changed);
    free(rank);
}

void sc_rank_release(struct sc_rank *rank)
{
    pthread_mutex_lock(&rank->lock);
    bool last = --rank->references == 0;
    pthread_mutex_unlock(&rank->lock);
    if (last) free_rank(rank);
}

void sc_rank_destroy(struct sc_rank *rank)
{
    pthread_mutex_lock(&all.lock);
    rank->destroyed = true;
    pthread_mutex_unlock(&all.lock);
    sc_rank_release(rank);
}

void sc_rank_revoke(struct sc_rank *rank)
{
    __atomic_store_n(&rank->aborted, true, __ATOMIC_SEQ_CST);
    set_state(rank, SC_ROW_REVOKED);
    pthread_mutex_lock(&rank->lock);
    pthread_cond_broadcast(&rank->changed);
    while (rank->running) pthread_cond_wait(&rank->changed, &rank->lock);
    pthread_mutex_unlock(&rank->lock);
}

void sc_rank_abort(struct sc_rank *rank)
{
    sc_rank_revoke(rank);
    set_state(rank, SC_ROW_BROKEN);
    sc_rank_release(rank);
}

void sc_rank_break(struct sc_rank *rank, ncclResult_t error)
{
    sc_rank_note(rank, error);
    set_state(rank, SC_ROW_BROKEN);
}

uint64_t sc_rank_keep_record(struct sc_rank *rank, const struct sc_work *works, uint32_t count, bool kept)
{
    struct sc_record *record = malloc(sizeof *record + count * sizeof *works);
    if (!record) return 0;
    record->kept = kept;
    record->count = count;
    memcpy(record->works, works, count * sizeof *works);
    pthread_mutex_lock(&rank->lock);
    record->number = ++rank->last_record;
    record->next = rank->records;
    rank->records = record;
    pthread_mutex_unlock(&rank->lock);
    return record->number;
}

struct sc_record *sc_rank_find_record(struct sc_rank *rank, uint64_t number)
{
    struct sc_record *record = rank->records;
    while (record && record->number != number) record = record->next;
    return record;
}

void sc_rank_drop_record(struct sc_rank *rank, uint64_t number)
{
    struct sc_record **at = &rank->records;
    while (*at && (*at)->number != number) at = &(*at)->next;
    if (!*at) return;
    struct sc_record *record = *at;
    *at = record->next;
    free(record);
}

/* A process that exits normally leaves its communicators: peers that do not wait for it continue. */
__attribute__((destructor)) static void leave_all(void)
{
    pthread_mutex_lock(&all.lock);
    for (struct sc_rank *rank = all.first; rank; rank = rank->next)
        if (rank->process == getpid() && !rank->aborted) set_state(rank, SC_ROW_LEFT);
    pthread_mutex_unlock(&all.lock);
}
