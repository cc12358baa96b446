#include "hidden.h"

#include <stdlib.h>
#include <string.h>

struct sc_saved {
    struct sc_saved *next;
    uint64_t address, bytes;
    bool written; /* the operation wrote to the block */
    char data[];
};

/* The blocks of read-mostly memory. Some may be freed by now. */
static struct {
    pthread_mutex_t lock; /* guards everything here */
    uint64_t *addresses;
    size_t count, capacity;
} mostly_read = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct sc_saved *kept; /* of the hidden write, while the copies differ; guarded by the driver's lock */
static int kept_ordinal;      /* the device that wrote */
static _Atomic bool over;     /* the hidden write has been */

static bool is_wanted(void)
{
    return sc_options()->hide_write && !over;
}

static size_t index_of(uint64_t address)
{
    size_t at = 0;
    while (at < mostly_read.count && mostly_read.addresses[at] != address) at++;
    return at;
}

static void add(uint64_t address)
{
    if (index_of(address) < mostly_read.count) return;
    if (mostly_read.count == mostly_read.capacity) {
        size_t capacity = mostly_read.capacity ? 2 * mostly_read.capacity : 64;
        uint64_t *addresses = realloc(mostly_read.addresses, capacity * sizeof *addresses);
        if (!addresses) return;
        mostly_read.addresses = addresses;
        mostly_read.capacity = capacity;
    }
    mostly_read.addresses[mostly_read.count++] = address;
}

static void leave_out(uint64_t address)
{
    size_t at = index_of(address);
    if (at < mostly_read.count) mostly_read.addresses[at] = mostly_read.addresses[--mostly_read.count];
}

void sc_hidden_advised(const struct sc_span *span, bool read_mostly)
{
    if (!is_wanted()) return;
    pthread_mutex_lock(&mostly_read.lock);
    uint64_t first = span->address & ~(SC_BLOCK_BYTES - 1);
    for (uint64_t at = first; at < span->address + span->bytes; at += SC_BLOCK_BYTES)
        (read_mostly ? add : leave_out)(at);
    pthread_mutex_unlock(&mostly_read.lock);
}

/* Managed allocations begin at a block, and share none. */
static void save(struct sc_op *op, uint64_t address)
{
    const struct sc_allocation *allocation = sc_space_find(address);
    if (!allocation || allocation->kind != SC_MEMORY_MANAGED) return;
    uint64_t bytes = allocation->begin + allocation->bytes - address;
    if (bytes > SC_BLOCK_BYTES) bytes = SC_BLOCK_BYTES;
    struct sc_saved *saved = malloc(sizeof *saved + bytes);
    if (!saved) return;
    *saved = (struct sc_saved){op->saved, address, bytes, false};
    memcpy(saved->data, (const void *)address, bytes);
    op->saved = saved;
}

/* What a kernel writes to is known when it has run. */
static bool may_write(const struct sc_op *op, uint64_t block)
{
    const struct sc_copy_work *copy = &op->copy;
    const struct sc_set_work *set = &op->set;
    uint64_t begin, bytes;
    switch (op->kind) {
    case SC_OP_KERNEL:
        return true;
    case SC_OP_COPY:
        begin = copy->destination;
        bytes = copy->width * copy->height * copy->depth; /* as the timing has it */
        break;
    case SC_OP_SET:
        begin = set->address;
        bytes = set->width * set->height * set->element_bytes;
        break;
    default:
        return false;
    }
    return begin < block + SC_BLOCK_BYTES && block < begin + bytes;
}

void sc_hidden_before(struct sc_op *op)
{
    if (!is_wanted()) return;
    pthread_mutex_lock(&mostly_read.lock);
    for (size_t i = 0; i < mostly_read.count; i++)
        if (may_write(op, mostly_read.addresses[i])) save(op, mostly_read.addresses[i]);
    pthread_mutex_unlock(&mostly_read.lock);
}

void sc_hidden_drop(struct sc_saved *saved)
{
    while (saved) {
        struct sc_saved *next = saved->next;
        free(saved);
        saved = next;
    }
}

/* Bounds the memory: drops what a kernel did not write to. */
void sc_hidden_after(struct sc_op *op)
{
    if (!op->saved || op->kind != SC_OP_KERNEL) return;
    for (struct sc_saved *saved = op->saved; saved; saved = saved->next)
        for (size_t i = 0; i < op->cost.block_count; i++)
            if (op->cost.blocks[i].block << SC_BLOCK_SHIFT == saved->address)
                saved->written |= op->cost.blocks[i].bytes_written != 0;
    for (struct sc_saved **at = &op->saved; *at;) {
        struct sc_saved *saved = *at;
        if (saved->written) {
            at = &saved->next;
            continue;
        }
        *at = saved->next;
        free(saved);
    }
}

/* The device that wrote to the block without being noticed; -1: none. */
static int writer_of(uint64_t address)
{
    for (int i = 0; i < sc_device_count(); i++) {
        const struct sc_managed_block *block = sc_managed_find(&sc_device_at(i)->timing.managed, address);
        if (block && block->hidden) return i;
    }
    return -1;
}

static void keep(struct sc_op *op)
{
    for (struct sc_saved **at = &op->saved; *at && !kept; at = &(*at)->next) {
        int writer = writer_of((*at)->address);
        if (writer < 0) continue;
        kept = *at;
        kept_ordinal = writer;
        *at = kept->next;
        kept->next = NULL;
        over = true;
        sc_log("SOFTCUDA_HIDE_WRITE: nobody notices the write of operation %llu%s%s to [0x%llx, 0x%llx)",
               (unsigned long long)op->id, op->kind == SC_OP_KERNEL ? ", kernel " : "",
               op->kind == SC_OP_KERNEL ? op->launch.name : "", (unsigned long long)kept->address,
               (unsigned long long)(kept->address + kept->bytes));
        return;
    }
}

void sc_hidden_timed(struct sc_op *op)
{
    if (op->saved && !kept) keep(op);
    if (!kept) return;
    const struct sc_managed_block *block =
        sc_managed_find(&sc_device_at(kept_ordinal)->timing.managed, kept->address);
    if (block && block->hidden) return;
    /* One copy is left. */
    if (block && block->residency == SC_ON_HOST) memcpy((void *)kept->address, kept->data, kept->bytes);
    sc_hidden_drop(kept);
    kept = NULL;
}
