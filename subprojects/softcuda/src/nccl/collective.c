#include "collective.h"

#include <string.h>

#include "element.h"

/* A work and what its transfers have in common. */
struct plan {
    struct sc_drive *drive;
    const struct sc_work *work;
    struct sc_transfer like; /* members that all transfers share */
    unsigned self, ranks;
    char *from, *to;
    size_t size; /* of an element */
};

/* The elements are divided among the ranks: each rank reduces a contiguous part. */
static uint64_t part_begin(const struct plan *plan, unsigned rank)
{
    uint64_t each = plan->work->count / plan->ranks, more = plan->work->count % plan->ranks;
    return (rank * each + (rank < more ? rank : more)) * plan->size;
}

static uint64_t part_bytes(const struct plan *plan, unsigned rank)
{
    return part_begin(plan, rank + 1) - part_begin(plan, rank);
}

static uint64_t block_bytes(const struct plan *plan)
{
    return plan->work->count * plan->size;
}

static struct sc_transfer *add(const struct plan *plan, enum sc_transfer_kind kind, unsigned peer,
                               const char *from, char *to, uint64_t bytes)
{
    struct sc_transfer transfer = plan->like;
    transfer.kind = kind;
    transfer.peer = peer;
    transfer.from = from;
    transfer.to = to;
    transfer.bytes = bytes;
    return bytes ? sc_drive_add(plan->drive, &transfer) : NULL;
}

static void add_copy(const struct plan *plan, const char *from, char *to, uint64_t bytes)
{
    if (from != to) add(plan, SC_TRANSFER_COPY, plan->self, from, to, bytes);
}

/* The i-th other rank, starting after this one, so that not all ranks send to the same rank first. */
static unsigned other(const struct plan *plan, unsigned i)
{
    return (plan->self + i) % plan->ranks;
}

/* Sends this rank's terms to the ranks that reduce them. */
static void send_parts(const struct plan *plan)
{
    for (unsigned i = 1; i < plan->ranks; i++) {
        unsigned peer = other(plan, i);
        add(plan, SC_TRANSFER_SEND, peer, plan->from + part_begin(plan, peer), NULL, part_bytes(plan, peer));
    }
}

/* Reduces this rank's part, to memory or to another rank. With one rank it is a copy. */
static struct sc_transfer *add_sums(const struct plan *plan, unsigned peer, const char *from, char *to,
                                    uint64_t bytes)
{
    bool alone = plan->ranks == 1 && plan->work->op != SC_OP_FACTOR;
    if (alone) add_copy(plan, from, to, bytes);
    return alone ? NULL : add(plan, SC_TRANSFER_REDUCE, peer, from, to, bytes);
}

static void add_all_reduce(const struct plan *plan)
{
    uint64_t begin = part_begin(plan, plan->self), bytes = part_bytes(plan, plan->self);
    send_parts(plan);
    struct sc_transfer *sums = add_sums(plan, plan->self, plan->from + begin, plan->to + begin, bytes);
    for (unsigned i = 1; i < plan->ranks && sums; i++)
        add(plan, SC_TRANSFER_SEND, other(plan, i), plan->to + begin, NULL, bytes)->behind = sums;
    for (unsigned i = 1; i < plan->ranks; i++) {
        unsigned peer = other(plan, i);
        add(plan, SC_TRANSFER_RECEIVE, peer, NULL, plan->to + part_begin(plan, peer), part_bytes(plan, peer));
    }
}

static void add_reduce(const struct plan *plan, unsigned root)
{
    uint64_t begin = part_begin(plan, plan->self), bytes = part_bytes(plan, plan->self);
    send_parts(plan);
    add_sums(plan, root, plan->from + begin, plan->to + begin, bytes);
    for (unsigned i = 1; i < plan->ranks && root == plan->self; i++) {
        unsigned peer = other(plan, i);
        add(plan, SC_TRANSFER_RECEIVE, peer, NULL, plan->to + part_begin(plan, peer), part_bytes(plan, peer));
    }
}

static void add_reduce_scatter(const struct plan *plan)
{
    uint64_t block = block_bytes(plan);
    for (unsigned i = 1; i < plan->ranks; i++) {
        unsigned peer = other(plan, i);
        add(plan, SC_TRANSFER_SEND, peer, plan->from + peer * block, NULL, block);
    }
    add_sums(plan, plan->self, plan->from + plan->self * block, plan->to, block);
}

/* Each rank passes on what it received, so that no rank sends more than once. */
static void add_broadcast(const struct plan *plan, unsigned root)
{
    uint64_t block = block_bytes(plan);
    unsigned before = (plan->self + plan->ranks - 1) % plan->ranks, next = other(plan, 1);
    const struct sc_transfer *received = NULL;
    if (plan->self == root)
        add_copy(plan, plan->from, plan->to, block);
    else
        received = add(plan, SC_TRANSFER_RECEIVE, before, NULL, plan->to, block);
    if (next != root)
        add(plan, SC_TRANSFER_SEND, next, received ? plan->to : plan->from, NULL, block)->behind = received;
}

static void add_all_gather(const struct plan *plan)
{
    uint64_t block = block_bytes(plan);
    add_copy(plan, plan->from, plan->to + plan->self * block, block);
    for (unsigned i = 1; i < plan->ranks; i++) {
        add(plan, SC_TRANSFER_SEND, other(plan, i), plan->from, NULL, block);
        unsigned peer = other(plan, plan->ranks - i);
        add(plan, SC_TRANSFER_RECEIVE, peer, NULL, plan->to + peer * block, block);
    }
}

static void add_all_to_all(const struct plan *plan)
{
    uint64_t block = block_bytes(plan);
    add_copy(plan, plan->from + plan->self * block, plan->to + plan->self * block, block);
    for (unsigned i = 1; i < plan->ranks; i++) {
        unsigned to = other(plan, i), from = other(plan, plan->ranks - i);
        add(plan, SC_TRANSFER_SEND, to, plan->from + to * block, NULL, block);
        add(plan, SC_TRANSFER_RECEIVE, from, NULL, plan->to + from * block, block);
    }
}

static void add_gather(const struct plan *plan, unsigned root)
{
    uint64_t block = block_bytes(plan);
    if (plan->self != root) {
        add(plan, SC_TRANSFER_SEND, root, plan->from, NULL, block);
        return;
    }
    add_copy(plan, plan->from, plan->to + root * block, block);
    for (unsigned i = 1; i < plan->ranks; i++)
        add(plan, SC_TRANSFER_RECEIVE, other(plan, i), NULL, plan->to + other(plan, i) * block, block);
}

static void add_scatter(const struct plan *plan, unsigned root)
{
    uint64_t block = block_bytes(plan);
    if (plan->self != root) {
        add(plan, SC_TRANSFER_RECEIVE, root, NULL, plan->to, block);
        return;
    }
    add_copy(plan, plan->from + root * block, plan->to, block);
    for (unsigned i = 1; i < plan->ranks; i++)
        add(plan, SC_TRANSFER_SEND, other(plan, i), plan->from + other(plan, i) * block, NULL, block);
}

/* Empty messages are sent, too. */
static void add_message(const struct plan *plan)
{
    struct sc_transfer transfer = plan->like;
    transfer.kind = plan->work->kind == SC_WORK_SEND ? SC_TRANSFER_SEND : SC_TRANSFER_RECEIVE;
    transfer.peer = (unsigned)plan->work->peer;
    transfer.from = plan->from;
    transfer.to = plan->to;
    transfer.bytes = block_bytes(plan);
    sc_drive_add(plan->drive, &transfer);
}

/* A hash of what both sides must agree on. FNV-1a (Fowler, Noll, Vo). For messages only the bytes count. */
static uint64_t signature_of(const struct sc_work *work, size_t size)
{
    bool message = work->kind >= SC_WORK_COLLECTIVES;
    uint64_t parts[] = {message ? SC_WORK_COLLECTIVES : work->kind, message ? 0 : work->type,
                        message ? 0 : work->op, message ? 0 : (uint64_t)work->peer, work->count * size};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (int shift = 0; shift < 64; shift += 8)
            hash = (hash ^ (parts[i] >> shift & 0xff)) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t factor_of(const struct sc_work *work)
{
    uint64_t factor = work->factor;
    if (work->factor_is_address) {
        factor = 0;
        memcpy(&factor, (const void *)work->factor, sc_type_bytes(work->type));
    }
    return factor;
}

void sc_collective_add(struct sc_drive *drive, const struct sc_work *work)
{
    struct plan plan = {
        .drive = drive,
        .work = work,
        .self = drive->rank->rank,
        .ranks = drive->rank->ranks,
        .from = (char *)work->from,
        .to = (char *)work->to,
        .size = sc_type_bytes(work->type),
    };
    plan.like = (struct sc_transfer){.signature = signature_of(work, plan.size),
                                     .type = work->type,
                                     .op = work->op,
                                     .factor = factor_of(work)};
    unsigned root = (unsigned)work->peer;
    switch (work->kind) {
    case SC_WORK_BROADCAST:
        add_broadcast(&plan, root);
        break;
    case SC_WORK_REDUCE:
        add_reduce(&plan, root);
        break;
    case SC_WORK_ALL_REDUCE:
        add_all_reduce(&plan);
        break;
    case SC_WORK_ALL_GATHER:
        add_all_gather(&plan);
        break;
    case SC_WORK_REDUCE_SCATTER:
        add_reduce_scatter(&plan);
        break;
    case SC_WORK_ALL_TO_ALL:
        add_all_to_all(&plan);
        break;
    case SC_WORK_GATHER:
        add_gather(&plan, root);
        break;
    case SC_WORK_SCATTER:
        add_scatter(&plan, root);
        break;
    default:
        add_message(&plan);
    }
}
