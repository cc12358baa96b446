#include "transfer.h"

#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "errors.h"

bool sc_drive_init(struct sc_drive *drive, struct sc_rank *rank, size_t capacity)
{
    *drive = (struct sc_drive){
        .rank = rank,
        .transfers = calloc(capacity ? capacity : 1, sizeof *drive->transfers),
        .capacity = capacity,
        .lines = calloc(rank->ranks, sizeof *drive->lines),
        .arrays = calloc(rank->ranks, sizeof *drive->arrays),
        .factors = calloc(rank->ranks, sizeof *drive->factors),
    };
    return drive->transfers && drive->lines && drive->arrays && drive->factors;
}

void sc_drive_free(struct sc_drive *drive)
{
    free(drive->transfers);
    free(drive->lines);
    free(drive->arrays);
    free(drive->factors);
}

void sc_drive_clear(struct sc_drive *drive)
{
    drive->count = drive->left = 0;
    memset(drive->lines, 0, drive->rank->ranks * sizeof *drive->lines);
}

static bool goes_out(const struct sc_drive *drive, const struct sc_transfer *transfer)
{
    return transfer->kind == SC_TRANSFER_SEND ||
           (transfer->kind == SC_TRANSFER_REDUCE && transfer->peer != drive->rank->rank);
}

struct sc_transfer *sc_drive_add(struct sc_drive *drive, const struct sc_transfer *transfer)
{
    struct sc_transfer *added = &drive->transfers[drive->count++];
    *added = *transfer;
    if (drive->message_bytes_most && added->bytes > drive->message_bytes_most)
        added->bytes = drive->message_bytes_most;
    drive->left++;
    if (goes_out(drive, added)) added->out_turn = drive->lines[added->peer].outs++;
    if (added->kind == SC_TRANSFER_RECEIVE) added->in_turn = drive->lines[added->peer].ins++;
    if (added->kind == SC_TRANSFER_REDUCE)
        for (unsigned i = 0; i < drive->rank->ranks; i++)
            if (i != drive->rank->rank) drive->lines[i].ins++;
    return added;
}

static void finish(struct sc_drive *drive, struct sc_transfer *transfer)
{
    transfer->done = true;
    drive->left--;
    if (goes_out(drive, transfer)) drive->lines[transfer->peer].outs_done++;
    if (transfer->kind == SC_TRANSFER_RECEIVE) drive->lines[transfer->peer].ins_done++;
    if (transfer->kind == SC_TRANSFER_REDUCE)
        for (unsigned i = 0; i < drive->rank->ranks; i++)
            if (i != drive->rank->rank) drive->lines[i].ins_done++;
}

static enum sc_drive_status broken(struct sc_drive *drive, unsigned peer, const char *what)
{
    sc_fail(ncclInternalError, "rank %u: %s by rank %u", drive->rank->rank, what, peer);
    return SC_DRIVE_BROKEN;
}

/* Whether there is a free slot to the peer. SC_DRIVE_MOVED: yes. */
static enum sc_drive_status can_write(struct sc_drive *drive, unsigned to)
{
    struct sc_rank *rank = drive->rank;
    struct sc_peer *peer = &rank->peers[to];
    struct sc_pair *pair = sc_segment_pair(&rank->segment, rank->rank, to);
    uint64_t on_the_way = peer->written - __atomic_load_n(&pair->read, __ATOMIC_ACQUIRE);
    if (on_the_way > SC_SLOTS) return broken(drive, to, "a count of pieces was overwritten");
    if (on_the_way == SC_SLOTS) return SC_DRIVE_WAITS;
    if (!peer->reserved && !sc_segment_reserve(&rank->segment, rank->rank, to)) {
        sc_fail(ncclSystemError, "no room in /dev/shm for what rank %u sends to rank %u", rank->rank, to);
        return SC_DRIVE_BROKEN;
    }
    peer->reserved = true;
    return SC_DRIVE_MOVED;
}

static void *slot_to_write(struct sc_drive *drive, unsigned to)
{
    struct sc_rank *rank = drive->rank;
    return sc_segment_slot(&rank->segment, rank->rank, to, rank->peers[to].written);
}

/* Publishes a filled slot. */
static void written(struct sc_drive *drive, const struct sc_transfer *transfer, uint64_t bytes)
{
    struct sc_rank *rank = drive->rank;
    struct sc_peer *peer = &rank->peers[transfer->peer];
    struct sc_pair *pair = sc_segment_pair(&rank->segment, rank->rank, transfer->peer);
    pair->pieces[peer->written % SC_SLOTS] =
        (struct sc_piece){.signature = transfer->signature, .factor = transfer->factor, .bytes = bytes};
    __atomic_store_n(&pair->written, ++peer->written, __ATOMIC_RELEASE);
    sc_rank_ring(rank, transfer->peer);
}

/* Whether a piece of `bytes` bytes of this transfer has arrived. SC_DRIVE_MOVED: yes, it is in *piece. */
static enum sc_drive_status can_read(struct sc_drive *drive, const struct sc_transfer *transfer,
                                     unsigned from, uint64_t bytes, struct sc_piece *piece)
{
    struct sc_rank *rank = drive->rank;
    struct sc_peer *peer = &rank->peers[from];
    struct sc_pair *pair = sc_segment_pair(&rank->segment, from, rank->rank);
    uint64_t there = __atomic_load_n(&pair->written, __ATOMIC_ACQUIRE) - peer->read;
    if (there > SC_SLOTS) return broken(drive, from, "a count of pieces was overwritten");
    if (there == 0) return SC_DRIVE_WAITS;
    *piece = pair->pieces[peer->read % SC_SLOTS];
    if (piece->signature != transfer->signature || piece->bytes != bytes)
        return broken(drive, from,
                      "another function, or another count, type, operation or root, was called on the same "
                      "place");
    return SC_DRIVE_MOVED;
}

static const void *slot_to_read(struct sc_drive *drive, unsigned from)
{
    struct sc_rank *rank = drive->rank;
    return sc_segment_slot(&rank->segment, from, rank->rank, rank->peers[from].read);
}

static void read_one(struct sc_drive *drive, unsigned from)
{
    struct sc_rank *rank = drive->rank;
    struct sc_pair *pair = sc_segment_pair(&rank->segment, from, rank->rank);
    __atomic_store_n(&pair->read, ++rank->peers[from].read, __ATOMIC_RELEASE);
    sc_rank_ring(rank, from);
}

static uint64_t next_bytes(const struct sc_transfer *transfer)
{
    uint64_t left = transfer->bytes - transfer->moved;
    return left < SC_SLOT_BYTES ? left : SC_SLOT_BYTES;
}

static enum sc_drive_status step_send(struct sc_drive *drive, struct sc_transfer *transfer)
{
    uint64_t bytes = next_bytes(transfer);
    if (drive->lines[transfer->peer].outs_done != transfer->out_turn) return SC_DRIVE_WAITS;
    if (transfer->behind && transfer->behind->moved < transfer->moved + bytes) return SC_DRIVE_WAITS;
    enum sc_drive_status status = can_write(drive, transfer->peer);
    if (status != SC_DRIVE_MOVED) return status;
    if (bytes) memcpy(slot_to_write(drive, transfer->peer), transfer->from + transfer->moved, bytes);
    transfer->moved += bytes;
    written(drive, transfer, bytes);
    return SC_DRIVE_MOVED;
}

static enum sc_drive_status step_receive(struct sc_drive *drive, struct sc_transfer *transfer)
{
    struct sc_piece piece;
    uint64_t bytes = next_bytes(transfer);
    if (drive->lines[transfer->peer].ins_done != transfer->in_turn) return SC_DRIVE_WAITS;
    enum sc_drive_status status = can_read(drive, transfer, transfer->peer, bytes, &piece);
    if (status != SC_DRIVE_MOVED) return status;
    if (bytes) memcpy(transfer->to + transfer->moved, slot_to_read(drive, transfer->peer), bytes);
    transfer->moved += bytes;
    read_one(drive, transfer->peer);
    return SC_DRIVE_MOVED;
}

static enum sc_drive_status step_copy(struct sc_transfer *transfer)
{
    uint64_t bytes = next_bytes(transfer);
    memmove(transfer->to + transfer->moved, transfer->from + transfer->moved, bytes);
    transfer->moved += bytes;
    return SC_DRIVE_MOVED;
}

static enum sc_drive_status step_reduce(struct sc_drive *drive, struct sc_transfer *transfer)
{
    unsigned self = drive->rank->rank, ranks = drive->rank->ranks;
    uint64_t bytes = next_bytes(transfer);
    bool out = goes_out(drive, transfer);
    if (out && drive->lines[transfer->peer].outs_done != transfer->out_turn) return SC_DRIVE_WAITS;
    for (unsigned i = 0; i < ranks; i++) {
        struct sc_piece piece = {.factor = transfer->factor};
        enum sc_drive_status status =
            i == self ? SC_DRIVE_MOVED : can_read(drive, transfer, i, bytes, &piece);
        if (status != SC_DRIVE_MOVED) return status;
        drive->arrays[i] = i == self ? transfer->from + transfer->moved : slot_to_read(drive, i);
        drive->factors[i] = piece.factor;
    }
    enum sc_drive_status status = out ? can_write(drive, transfer->peer) : SC_DRIVE_MOVED;
    if (status != SC_DRIVE_MOVED) return status;
    sc_reduce(transfer->type, transfer->op, drive->arrays, drive->factors, ranks,
              out ? slot_to_write(drive, transfer->peer) : transfer->to + transfer->moved,
              bytes / sc_type_bytes(transfer->type));
    transfer->moved += bytes;
    if (out) written(drive, transfer, bytes);
    for (unsigned i = 0; i < ranks; i++)
        if (i != self) read_one(drive, i);
    return SC_DRIVE_MOVED;
}

static enum sc_drive_status step(struct sc_drive *drive, struct sc_transfer *transfer)
{
    switch (transfer->kind) {
    case SC_TRANSFER_SEND:
        return step_send(drive, transfer);
    case SC_TRANSFER_RECEIVE:
        return step_receive(drive, transfer);
    case SC_TRANSFER_REDUCE:
        return step_reduce(drive, transfer);
    default:
        return step_copy(transfer);
    }
}

enum sc_drive_status sc_drive_step(struct sc_drive *drive)
{
    bool moved = false;
    for (size_t i = 0; i < drive->count; i++) {
        struct sc_transfer *transfer = &drive->transfers[i];
        if (transfer->done) continue;
        enum sc_drive_status status = step(drive, transfer);
        if (status == SC_DRIVE_BROKEN) return status;
        if (status == SC_DRIVE_WAITS) continue;
        moved = true;
        if (transfer->moved == transfer->bytes) finish(drive, transfer);
    }
    if (!drive->left) return SC_DRIVE_DONE;
    return moved ? SC_DRIVE_MOVED : SC_DRIVE_WAITS;
}

bool sc_drive_needs_gone(const struct sc_drive *drive)
{
    for (size_t i = 0; i < drive->count; i++) {
        const struct sc_transfer *transfer = &drive->transfers[i];
        if (transfer->done || transfer->kind == SC_TRANSFER_COPY) continue;
        if (sc_rank_is_gone(drive->rank, transfer->peer)) return true;
        for (unsigned peer = 0; transfer->kind == SC_TRANSFER_REDUCE && peer < drive->rank->ranks; peer++)
            if (sc_rank_is_gone(drive->rank, peer)) return true;
    }
    return false;
}
