/* The whole plan. */
#ifndef RANKS_MAKE_ALL_CUH
#define RANKS_MAKE_ALL_CUH

#include "make_calls.cuh"

static inline void make_any(Plan *p, Rank *rank)
{
    make_own(p, rank, rank->avoided_stream < 0);
}

static inline void make_many(Plan *p, Rank *rank, int most)
{
    for (int i = (int)below(p, most + 1); i > 0; i--) make_any(p, rank);
}

/* The buffer that was used longest ago: what is received into it can be called early. */
static inline int oldest_buffer(const Rank *rank)
{
    int oldest = -1;
    for (int b = 0; b < rank->buffer_count; b++)
        if (rank->buffers[b].live &&
            (oldest < 0 || rank->buffers[b].last_use < rank->buffers[oldest].last_use))
            oldest = b;
    return oldest;
}

static inline void make_one_message(Plan *p, int comm, int from, int to, int stream, int to_buffer)
{
    Members m = members_of(p, comm, from);
    Rank *sender = &p->ranks[from], *receiver = &p->ranks[to];
    Op *send = begin_collectives(sender, comm), *receive = begin_collectives(receiver, comm);
    m.ops[sender->ranks[comm]] = send;
    m.ops[receiver->ranks[comm]] = receive;
    if (stream >= 0) receiver->forced_stream = stream;
    add_message(p, &m, sender->ranks[comm], receiver->ranks[comm], to_buffer);
    receiver->forced_stream = -1;
    receive->early = stream >= 0;
    end_collectives(sender, send);
    end_collectives(receiver, receive);
}

/* A rank asks another one for something, and has the receive of the answer in a stream, by the second
 * communicator, long before it has computed and sent what it asks with. Whatever else it does before it does
 * so, waits for other streams included, must not wait for the answer. */
static inline void make_question(Plan *p)
{
    int asks = (int)below(p, p->rank_count),
        answers = (asks + 1 + (int)below(p, p->rank_count - 1)) % p->rank_count;
    int first = chance(p, 50) ? WORLD : BACKWARDS, second = first == WORLD ? BACKWARDS : WORLD;
    Rank *a = &p->ranks[asks], *b = &p->ranks[answers];
    if (a->colors[PARTS] == b->colors[PARTS] && chance(p, 50)) second = PARTS;
    int buffer = oldest_buffer(a), stream = pick_stream(p, a);
    if (buffer < 0 || a->avoided_stream >= 0) return;
    a->avoided_stream = stream;
    a->avoided_buffer = buffer;
    make_many(p, a, 10);
    make_many(p, b, 4);
    make_some_kernel(p, a);
    make_one_message(p, first, asks, answers, -1, -1);
    make_many(p, a, 6);
    make_some_kernel(p, b);
    make_many(p, b, 4);
    a->avoided_stream = a->avoided_buffer = -1;
    make_one_message(p, second, answers, asks, stream, buffer);
}

/* A broadcast that one rank calls long before its root does: the root first waits on the host for a byte that
 * this rank sends when other work of its own is done. */
static inline void make_late_root(Plan *p, int comm)
{
    int early = (int)below(p, p->rank_count);
    Members m = members_of(p, comm, early);
    Rank *a = &p->ranks[early];
    int buffer = oldest_buffer(a), root = (a->ranks[comm] + 1) % m.count, stream = pick_stream(p, a);
    if (buffer < 0 || m.count < 2) return;
    a->avoided_stream = stream;
    a->avoided_buffer = buffer;
    make_many(p, a, 8);
    make_some_kernel(p, a);
    end_op(a, begin_op(a, OP_SYNC_STREAM, pick_stream(p, a)));
    make_message_between(p, early, m.ranks[root]);
    a->avoided_stream = a->avoided_buffer = -1;
    for (int i = 0; i < m.count; i++) m.ops[i] = begin_collectives(&p->ranks[m.ranks[i]], comm);
    a->forced_stream = stream;
    a->forced_buffer = buffer;
    add_broadcast(p, &m, root, a->buffers[buffer].bytes);
    a->forced_stream = a->forced_buffer = -1;
    m.ops[a->ranks[comm]]->early = true;
    for (int i = 0; i < m.count; i++) end_collectives(&p->ranks[m.ranks[i]], m.ops[i]);
}

static inline void start_rank(Plan *p, Rank *rank)
{
    for (int s = 0; s < STREAMS; s++) {
        rank->host[s] = -1;
        for (int t = 0; t < STREAMS; t++) rank->known[s][t] = -1;
    }
    rank->host_op = rank->avoided_stream = rank->avoided_buffer = rank->forced_stream = rank->forced_buffer =
        -1;
    for (int i = 0; i < 40 && rank->live_bytes < p->room_bytes * 3 / 4; i++) make_buffer(p, rank);
}

static inline Plan *make_plan(uint64_t seed, int ranks, int steps, bool polls)
{
    Plan *p = (Plan *)calloc(1, sizeof *p);
    p->seed = p->random = seed;
    p->polls = polls;
    p->rank_count = ranks ? ranks : 2 + (int)below(p, MOST_RANKS - 1);
    p->room_bytes = (12 + below(p, 13)) << 20;
    p->early_before_malloc = chance(p, 50);
    p->one_communicator = chance(p, 20);
    choose_communicators(p);
    for (int r = 0; r < p->rank_count; r++) start_rank(p, &p->ranks[r]);
    for (int i = 0; i < steps; i++) {
        int way = (int)below(p, 100), r = (int)below(p, p->rank_count);
        Members m = members_of(p, p->one_communicator ? (int)WORLD : (int)below(p, COMMS), r);
        if (way < 20)
            make_collectives(p, &m);
        else if (way < 35 && !p->one_communicator)
            make_messages(p, &m);
        else if (way < 45 && !p->one_communicator)
            make_question(p);
        else if (way < 49)
            make_late_root(p, p->one_communicator ? (int)WORLD : (int)below(p, COMMS));
        else if (way < 53)
            make_message(p);
        else
            make_many(p, &p->ranks[r], 6);
    }
    for (int r = 0; r < p->rank_count; r++) choose_order(p, &p->ranks[r]);
    return p;
}

static inline void free_plan(Plan *p)
{
    for (int r = 0; r < p->rank_count; r++) {
        for (int i = 0; i < p->ranks[r].op_count; i++) free((void *)p->ranks[r].ops[i].expected);
        for (int b = 0; b < p->ranks[r].buffer_count; b++) free(p->ranks[r].buffers[b].model);
    }
    free(p);
}

#endif
