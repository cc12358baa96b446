#include "launch.h"

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collective.h"
#include "describe.h"
#include "errors.h"
#include "gate.h"
#include "times.h"

/* MXCSR: round to nearest, denormals enabled, no exceptions unmasked, regardless of the program's own
 * settings. */
#define PLAIN_ARITHMETIC 0x1f80u
/* How long a launch sleeps before it checks whether its peers are alive. */
#define LOOK_MS 100
/* How long a launch whose peer is gone waits for the program to abort the communicator. */
#define GRACE_NS UINT64_C(1000000000)

/* The numbers of a launch's messages to and from one peer. */
struct messages {
    uint64_t first_send, sends, first_receive, receives;
};

struct token {
    struct sc_rank *rank; /* NULL: the communicator is gone */
    uint64_t record, turn;
    uint64_t first_collective, collectives;
    uint64_t ready_ns, busy_ns;
    bool turn_is_over;
    uint32_t count;
    struct sc_work *works;
    struct messages messages[];
};

static bool is_aborted(const struct sc_rank *rank)
{
    return __atomic_load_n(&rank->aborted, __ATOMIC_SEQ_CST);
}

/* Assigns numbers to the works. pre: the rank's lock is held. */
static void take_numbers(struct token *token)
{
    struct sc_rank *rank = token->rank;
    token->turn = rank->begun++;
    token->first_collective = rank->collectives;
    for (unsigned i = 0; i < rank->ranks; i++) {
        token->messages[i].first_send = rank->peers[i].sends;
        token->messages[i].first_receive = rank->peers[i].receives;
    }
    for (uint32_t i = 0; i < token->count; i++) {
        const struct sc_work *work = &token->works[i];
        if (work->kind < SC_WORK_COLLECTIVES)
            token->collectives++;
        else if (work->kind == SC_WORK_SEND)
            token->messages[work->peer].sends++;
        else
            token->messages[work->peer].receives++;
    }
    rank->collectives += token->collectives;
    for (unsigned i = 0; i < rank->ranks; i++) {
        rank->peers[i].sends += token->messages[i].sends;
        rank->peers[i].receives += token->messages[i].receives;
    }
}

static void *begin(const void *launch_parameters)
{
    const struct sc_parameters *parameters = launch_parameters;
    struct token *token = calloc(1, sizeof *token + parameters->ranks * sizeof token->messages[0]);
    if (!token) return NULL;
    token->rank = sc_rank_find(parameters->communicator);
    if (!token->rank) return token;
    token->record = parameters->record;
    token->works = malloc((parameters->count + 1) * sizeof *token->works);
    pthread_mutex_lock(&token->rank->lock);
    const struct sc_work *works = sc_works_of(token->rank, parameters);
    if (works && token->works) {
        token->count = parameters->count;
        memcpy(token->works, works, token->count * sizeof *works);
        take_numbers(token);
    }
    pthread_mutex_unlock(&token->rank->lock);
    if (works && token->works) return token;
    bool lack = !token->works;
    sc_rank_release(token->rank);
    token->rank = NULL;
    if (!lack) return token;
    free(token);
    return NULL;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Called when nothing could move. Returns since when a peer has been missing, or 0; *over: for too long. */
static uint64_t look_for_peers(struct sc_rank *rank, const struct sc_drive *drive, uint64_t since_ns,
                               bool *over)
{
    ncclResult_t error = sc_rank_check(rank);
    if (!error && sc_drive_needs_gone(drive)) {
        error = sc_fail(ncclRemoteError, "rank %u waits for a rank that has left or failed", rank->rank);
        sc_rank_note(rank, error);
    }
    *over = error && since_ns && now_ns() - since_ns >= GRACE_NS;
    return error && !since_ns ? now_ns() : since_ns;
}

/* Executes all transfers. Returns false on failure, true if they are done or the communicator was aborted. */
static bool drive_all(struct sc_rank *rank, struct sc_drive *drive)
{
    uint64_t missing_since_ns = 0;
    while (drive->left && !is_aborted(rank)) {
        uint32_t bell = sc_rank_bell(rank);
        /* Checked before the step, because the step consumes pieces that a peer left behind. */
        bool gone = sc_drive_needs_gone(drive);
        switch (sc_drive_step(drive)) {
        case SC_DRIVE_BROKEN:
            sc_rank_note(rank, ncclInternalError);
            return false;
        case SC_DRIVE_WAITS:
            break;
        default:
            continue;
        }
        bool over = false;
        if (!gone && !missing_since_ns) sc_rank_sleep(rank, bell, LOOK_MS);
        if (gone || missing_since_ns || sc_rank_bell(rank) == bell)
            missing_since_ns = look_for_peers(rank, drive, missing_since_ns, &over);
        if (over) return false;
        if (missing_since_ns) sc_rank_sleep(rank, bell, LOOK_MS);
    }
    return true;
}

/* Collectives first, one after the other; then all messages concurrently: the order in which peers expect
 * them. */
static bool move_all(struct token *token, uint64_t message_bytes_most)
{
    struct sc_drive drive;
    size_t most = 1, messages = 0;
    for (uint32_t i = 0; i < token->count; i++) {
        size_t more = sc_collective_most(&token->works[i], token->rank->ranks);
        if (token->works[i].kind >= SC_WORK_COLLECTIVES) more = ++messages;
        if (more > most) most = more;
    }
    bool ok = sc_drive_init(&drive, token->rank, most);
    drive.message_bytes_most = message_bytes_most;
    for (uint32_t i = 0; i < token->count && ok && !is_aborted(token->rank); i++) {
        if (token->works[i].kind >= SC_WORK_COLLECTIVES) continue;
        sc_drive_clear(&drive);
        sc_collective_add(&drive, &token->works[i]);
        ok = drive_all(token->rank, &drive);
    }
    if (ok && !is_aborted(token->rank)) {
        sc_drive_clear(&drive);
        for (uint32_t i = 0; i < token->count; i++)
            if (token->works[i].kind >= SC_WORK_COLLECTIVES) sc_collective_add(&drive, &token->works[i]);
        ok = drive_all(token->rank, &drive);
    }
    sc_drive_free(&drive);
    return ok;
}

/* Waits for the launch's turn. false: the communicator was aborted; there is nothing to do. */
static bool begin_turn(struct token *token)
{
    struct sc_rank *rank = token->rank;
    pthread_mutex_lock(&rank->lock);
    while (rank->over != token->turn && !is_aborted(rank)) pthread_cond_wait(&rank->changed, &rank->lock);
    bool aborted = is_aborted(rank);
    rank->running += !aborted;
    pthread_mutex_unlock(&rank->lock);
    return !aborted;
}

static void end_turn(struct token *token, bool ran)
{
    struct sc_rank *rank = token->rank;
    pthread_mutex_lock(&rank->lock);
    rank->running -= ran;
    rank->over += !token->turn_is_over;
    token->turn_is_over = true;
    pthread_cond_broadcast(&rank->changed);
    pthread_mutex_unlock(&rank->lock);
}

static bool run(struct sc_native_launch *launch, void *opaque)
{
    struct token *token = opaque;
    struct sc_rank *rank = token->rank;
    if (!rank) {
        sc_fail(ncclInvalidUsage, "a graph launches work of a communicator that is gone");
        return false;
    }
    if (!begin_turn(token)) {
        end_turn(token, false);
        return true;
    }
    bool ok = __atomic_load_n(&rank->error, __ATOMIC_ACQUIRE) == ncclSuccess;
    unsigned callers = _mm_getcsr();
    _mm_setcsr(PLAIN_ARITHMETIC);
    ok = ok && move_all(token, launch->message_bytes_most);
    _mm_setcsr(callers);
    if (!ok && is_aborted(rank)) ok = true;
    if (!ok) sc_rank_break(rank, ncclSystemError);
    end_turn(token, true);
    return ok;
}

static void arrive(void *opaque, uint64_t ready_ns, uint64_t busy_ns)
{
    struct token *token = opaque;
    struct sc_rank *rank = token->rank;
    token->ready_ns = ready_ns;
    token->busy_ns = busy_ns;
    if (!rank || is_aborted(rank)) return;
    if (token->collectives) {
        struct sc_time time = {token->first_collective, token->first_collective + token->collectives,
                               ready_ns, busy_ns};
        sc_series_post(&sc_rank_row(rank, rank->rank)->collectives, &time);
    }
    for (unsigned i = 0; i < rank->ranks; i++) {
        const struct messages *messages = &token->messages[i];
        struct sc_time sends = {messages->first_send, messages->first_send + messages->sends, ready_ns,
                                busy_ns};
        struct sc_time receives = {messages->first_receive, messages->first_receive + messages->receives,
                                   ready_ns, busy_ns};
        if (messages->sends) sc_series_post(&sc_segment_pair(&rank->segment, rank->rank, i)->sends, &sends);
        if (messages->receives)
            sc_series_post(&sc_segment_pair(&rank->segment, i, rank->rank)->receives, &receives);
        if (token->collectives || messages->sends || messages->receives) sc_rank_ring(rank, i);
    }
}

/* Whether a rank has published its times for all works that the launch shares with it. Raises *ready_ns and
 * *busy_ns to them. */
static bool read_one(const struct token *token, unsigned i, uint64_t *ready_ns, uint64_t *busy_ns)
{
    const struct sc_segment *segment = &token->rank->segment;
    const struct messages *messages = &token->messages[i];
    uint64_t unused = 0;
    unsigned self = token->rank->rank;
    bool told = true;
    if (token->collectives)
        told = sc_series_read(&sc_segment_row(segment, i)->collectives, token->first_collective,
                              token->first_collective + token->collectives, ready_ns, busy_ns);
    if (told && messages->sends)
        told = sc_series_read(&sc_segment_pair(segment, self, i)->receives, messages->first_send,
                              messages->first_send + messages->sends, ready_ns, &unused);
    if (told && messages->receives)
        told = sc_series_read(&sc_segment_pair(segment, i, self)->sends, messages->first_receive,
                              messages->first_receive + messages->receives, ready_ns, &unused);
    return told;
}

static enum sc_meeting read_all(const struct token *token, uint64_t *ready_ns, uint64_t *busy_ns)
{
    const struct sc_rank *rank = token->rank;
    uint64_t here = __atomic_load_n(&sc_rank_row(rank, rank->rank)->owner, __ATOMIC_RELAXED);
    enum sc_meeting missing = SC_MET;
    for (unsigned i = 0; i < rank->ranks; i++) {
        /* Checked before the read: times that a rank published before it left count. */
        bool gone = sc_rank_is_gone(rank, i);
        if (read_one(token, i, ready_ns, busy_ns) || gone) continue;
        if (__atomic_load_n(&sc_rank_row(rank, i)->owner, __ATOMIC_RELAXED) == here) return SC_MEETING_HERE;
        missing = SC_MEETING_ELSEWHERE;
    }
    return missing;
}

static enum sc_meeting meet(void *opaque, unsigned patience_ms, uint64_t *start_ns, uint64_t *end_ns)
{
    const struct token *token = opaque;
    struct sc_rank *rank = token->rank;
    uint64_t until_ns = patience_ms ? now_ns() + patience_ms * UINT64_C(1000000) : 0;
    uint64_t ready_ns = token->ready_ns, busy_ns = token->busy_ns, link_ns = 0;
    while (rank && !is_aborted(rank)) {
        uint32_t bell = sc_rank_bell(rank);
        enum sc_meeting meeting = read_all(token, &ready_ns, &busy_ns);
        if (meeting == SC_MET) {
            struct sc_link link = {sc_gate_peer_bytes_per_ns(), sc_gate_peer_latency_ns()};
            link_ns = sc_link_ns(&link, token->works, token->count, rank->rank, rank->ranks);
            break;
        }
        uint64_t now = patience_ms ? now_ns() : 0;
        if (now >= until_ns) return meeting;
        sc_rank_sleep(rank, bell, (unsigned)((until_ns - now) / 1000000) + 1);
        sc_rank_check(rank);
    }
    *start_ns = ready_ns;
    *end_ns = ready_ns + (busy_ns > link_ns ? busy_ns : link_ns);
    return SC_MET;
}

static void end(void *opaque)
{
    struct token *token = opaque;
    if (token->rank) {
        end_turn(token, false);
        pthread_mutex_lock(&token->rank->lock);
        struct sc_record *record = sc_rank_find_record(token->rank, token->record);
        if (record && !record->kept) sc_rank_drop_record(token->rank, token->record);
        pthread_mutex_unlock(&token->rank->lock);
        sc_rank_release(token->rank);
    }
    free(token->works);
    free(token);
}

const struct sc_native_peers sc_launch_peers = {begin, run, arrive, meet, end};
