/* Plans what ranks do with each other: collectives, messages, groups of them. */
#ifndef RANKS_MAKE_CALLS_CUH
#define RANKS_MAKE_CALLS_CUH

#include "make.cuh"
#include "sums.cuh"

enum { MOST_MESSAGES = 6, MOST_IN_GROUP = 3 };

/* The ranks of the program that a rank's communicator has, by their numbers in it. */
struct Members {
    int comm, count, ranks[MOST_RANKS];
    Op *ops[MOST_RANKS];
};

static inline Members members_of(const Plan *p, int comm, int rank)
{
    const Rank *one = &p->ranks[rank];
    Members m = {};
    m.comm = comm;
    m.count = one->sizes[comm];
    for (int i = 0; i < m.count; i++) m.ranks[i] = one->members[comm][i];
    return m;
}

static inline void choose_communicators(Plan *p)
{
    int colors[MOST_RANKS];
    for (int r = 0; r < p->rank_count; r++) colors[r] = (int)below(p, 2);
    for (int r = 0; r < p->rank_count; r++) {
        Rank *rank = &p->ranks[r];
        for (int comm = 0; comm < COMMS; comm++) {
            rank->colors[comm] = comm == PARTS ? colors[r] : 0;
            for (int i = 0; i < p->rank_count; i++) {
                int other = comm == BACKWARDS ? p->rank_count - 1 - i : i;
                if (comm == PARTS && colors[other] != colors[r]) continue;
                if (other == r) rank->ranks[comm] = rank->sizes[comm];
                rank->members[comm][rank->sizes[comm]++] = other;
            }
        }
    }
}

static inline Op *begin_collectives(Rank *rank, int comm)
{
    Op *op = begin_op(rank, OP_COLLECTIVES, -1);
    op->comm = comm;
    op->first_call = rank->call_count;
    return op;
}

static inline Call *add_call(Plan *p, Rank *rank, Op *op, Function function, size_t count,
                             ncclDataType_t type)
{
    if (rank->call_count == MOST_CALLS) stop("too many calls");
    Call *call = &rank->calls[rank->call_count++];
    memset(call, 0, sizeof *call);
    call->function = function;
    call->count = count;
    call->type = type;
    call->from.buffer = call->to.buffer = -1;
    call->stream = op->call_count && chance(p, 75) ? op->stream : pick_stream(p, rank);
    if (rank->forced_stream >= 0) call->stream = rank->forced_stream;
    if (!op->call_count++) op->stream = call->stream;
    return call;
}

/* In blocks of the call's count. */
static inline void blocks_of(Function function, bool root, size_t ranks, size_t *reads, size_t *writes)
{
    *reads = *writes = 1;
    if (function == BROADCAST) *reads = root;
    if (function == REDUCE) *writes = root;
    if (function == REDUCE_SCATTER || function == ALL_TO_ALL) *reads = ranks;
    if (function == ALL_GATHER || function == ALL_TO_ALL) *writes = ranks;
    if (function == GATHER) *writes = root ? ranks : 0;
    if (function == SCATTER) *reads = root ? ranks : 0;
    if (function == SEND) *writes = 0;
    if (function == RECEIVE) *reads = 0;
}

static inline bool has_in_place(Function function)
{
    return function != ALL_TO_ALL && function < FUNCTIONS;
}

/* Where the smaller part lies in the larger if both are the same memory. */
static inline size_t own_block(Function function, size_t own)
{
    return function == REDUCE_SCATTER || function == ALL_GATHER || function == GATHER || function == SCATTER
               ? own
               : 0;
}

/* Chooses the memory of a rank's call, and notes it in the op. False: it has no buffer that is large enough.
 */
static inline bool place_call(Plan *p, const Rank *rank, Op *op, Call *call, int own)
{
    size_t reads, writes, block = call->count * type_bytes(call->type);
    blocks_of(call->function, own == call->peer, rank->sizes[op->comm], &reads, &writes);
    bool in_place = has_in_place(call->function) && reads && writes && chance(p, 35);
    size_t read_blocks = in_place && writes > reads ? writes : reads;
    if (reads) {
        int b = pick_buffer(p, rank, read_blocks * block, op, !in_place);
        if (b < 0) return false;
        call->from = pick_place(p, rank, b, read_blocks * block);
        note_use(op, call->stream, b, false);
    }
    if (in_place) {
        call->to = call->from;
        if (reads < writes) call->from.offset += own_block(call->function, own) * block;
        if (reads > writes) call->to.offset += own_block(call->function, own) * block;
        note_use(op, call->stream, call->to.buffer, true);
    } else if (writes) {
        int b =
            rank->forced_buffer >= 0 ? rank->forced_buffer : pick_buffer(p, rank, writes * block, op, false);
        if (b < 0 || rank->buffers[b].bytes < writes * block) return false;
        call->to = pick_place(p, rank, b, writes * block);
        note_use(op, call->stream, b, true);
    }
    return true;
}

/* As many bytes as there are buffers for in all ranks, so that few calls find none. */
static inline size_t pick_block(Plan *p, const Members *m, size_t blocks)
{
    size_t bytes = (size_t)8 * KIB << below(p, 8);
    for (int i = 0; i < m->count; i++)
        while (bytes >= 8 * KIB && pick_buffer(p, &p->ranks[m->ranks[i]], blocks * bytes, NULL, false) < 0)
            bytes /= 2;
    return (bytes - below(p, bytes / 2)) & ~(size_t)7;
}

static inline void drop_call(Rank *rank, Op *op, int uses_before)
{
    rank->call_count--;
    op->call_count--;
    op->use_count = uses_before;
}

/* Adds the same function to the op of each member. False, and nothing is added: some rank has no memory for
 * it. */
static inline bool add_to_all(Plan *p, Members *m, const Call *like, Call **calls)
{
    int uses[MOST_RANKS];
    for (int i = 0; i < m->count; i++) {
        Rank *rank = &p->ranks[m->ranks[i]];
        uses[i] = m->ops[i]->use_count;
        calls[i] = add_call(p, rank, m->ops[i], like->function, like->count, like->type);
        calls[i]->reduction = like->reduction;
        calls[i]->peer = like->peer;
        if (place_call(p, rank, m->ops[i], calls[i], i)) continue;
        for (int k = 0; k <= i; k++) drop_call(&p->ranks[m->ranks[k]], m->ops[k], uses[k]);
        return false;
    }
    for (int i = 0; i < m->count; i++) order_uses(&p->ranks[m->ranks[i]], m->ops[i], uses[i]);
    return true;
}

static inline void add_and_compute(Plan *p, Members *m, const Call *like)
{
    Call *calls[MOST_RANKS];
    if (!add_to_all(p, m, like, calls)) return;
    uint8_t *from[MOST_RANKS], *to[MOST_RANKS];
    for (int i = 0; i < m->count; i++) {
        from[i] = model_at(&p->ranks[m->ranks[i]], calls[i]->from);
        to[i] = model_at(&p->ranks[m->ranks[i]], calls[i]->to);
    }
    compute_collective(like, m->count, from, to);
}

static inline void add_collective(Plan *p, Members *m)
{
    static const ncclDataType_t types[] = {ncclUint8, ncclUint32, ncclInt32, ncclUint64};
    static const ncclRedOp_t reductions[] = {ncclSum, ncclProd, ncclMax, ncclMin};
    Call like = {};
    like.function = (Function)below(p, FUNCTIONS);
    like.type = types[below(p, 4)];
    like.reduction = reductions[below(p, 4)];
    like.peer = (int)below(p, m->count);
    bool by_block = like.function != ALL_REDUCE && like.function != BROADCAST && like.function != REDUCE;
    like.count = pick_block(p, m, by_block ? m->count : 1) / type_bytes(like.type);
    add_and_compute(p, m, &like);
}

static inline void add_broadcast(Plan *p, Members *m, int root, size_t most_bytes)
{
    Call like = {};
    size_t bytes = pick_block(p, m, 1);
    like.function = BROADCAST;
    like.type = ncclUint32;
    like.peer = root;
    like.count = (bytes < most_bytes ? bytes : most_bytes) / 4;
    add_and_compute(p, m, &like);
}

/* A message between two members, or from one to itself. `to_buffer`: where it arrives, or -1. */
static inline bool add_message(Plan *p, Members *m, int from, int to, int to_buffer)
{
    Rank *sender = &p->ranks[m->ranks[from]], *receiver = &p->ranks[m->ranks[to]];
    Members two = *m;
    two.count = 2;
    two.ranks[0] = m->ranks[from];
    two.ranks[1] = m->ranks[to];
    size_t bytes = pick_block(p, &two, 1);
    if (to_buffer >= 0 && receiver->buffers[to_buffer].bytes < bytes)
        bytes = receiver->buffers[to_buffer].bytes;
    Op *op = m->ops[from];
    int uses = op->use_count;
    Call *send = add_call(p, sender, op, SEND, bytes / 4, ncclUint32);
    send->peer = to;
    if (!place_call(p, sender, op, send, from)) {
        drop_call(sender, op, uses);
        return false;
    }
    Op *other = m->ops[to];
    int others_uses = other->use_count;
    Call *receive = add_call(p, receiver, other, RECEIVE, bytes / 4, ncclUint32);
    receive->peer = from;
    bool placed = true;
    if (to_buffer >= 0) {
        receive->to = pick_place(p, receiver, to_buffer, send->count * 4);
        note_use(other, receive->stream, to_buffer, true);
    } else {
        placed = place_call(p, receiver, other, receive, to);
    }
    if (!placed) {
        drop_call(receiver, other, others_uses);
        drop_call(sender, op, uses);
        return false;
    }
    order_uses(sender, op, uses);
    if (other != op) order_uses(receiver, other, others_uses);
    memcpy(model_at(receiver, receive->to), model_at(sender, send->from), send->count * 4);
    return true;
}

/* An op without calls is none. */
static inline void end_collectives(Rank *rank, Op *op)
{
    if (op->call_count)
        end_op(rank, op);
    else
        rank->op_count--;
}

/* Collectives of all members, and perhaps messages between some, in one group. */
static inline void make_collectives(Plan *p, Members *m)
{
    int collectives = chance(p, 60) ? 1 : 1 + (int)below(p, MOST_IN_GROUP),
        messages = collectives > 1 && !p->one_communicator ? (int)below(p, 3) : 0;
    for (int i = 0; i < m->count; i++) m->ops[i] = begin_collectives(&p->ranks[m->ranks[i]], m->comm);
    for (int i = 0; i < collectives; i++) add_collective(p, m);
    for (int i = 0; i < messages; i++)
        add_message(p, m, (int)below(p, m->count), (int)below(p, m->count), -1);
    for (int i = 0; i < m->count; i++) end_collectives(&p->ranks[m->ranks[i]], m->ops[i]);
}

/* Messages, which each rank puts into groups as it likes, in the order that all have. */
static inline void make_messages(Plan *p, Members *m)
{
    int messages = 1 + (int)below(p, MOST_MESSAGES);
    for (int i = 0; i < m->count; i++) m->ops[i] = begin_collectives(&p->ranks[m->ranks[i]], m->comm);
    for (int k = 0; k < messages; k++) {
        int from = (int)below(p, m->count), to = (int)below(p, m->count);
        for (int i = 0; i < m->count; i++) {
            Rank *rank = &p->ranks[m->ranks[i]];
            if ((i != from && i != to) || !m->ops[i]->call_count || chance(p, 60)) continue;
            end_op(rank, m->ops[i]);
            m->ops[i] = begin_collectives(rank, m->comm);
        }
        add_message(p, m, from, to, -1);
    }
    for (int i = 0; i < m->count; i++) end_collectives(&p->ranks[m->ranks[i]], m->ops[i]);
}

#endif
