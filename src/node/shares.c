#include "node/shares.h"

static uint64_t add(uint64_t one, uint64_t other)
{
    return one + other < one ? UINT64_MAX : one + other;
}

static uint64_t times(uint64_t bytes, uint64_t count)
{
    uint64_t product;
    return __builtin_mul_overflow(bytes, count, &product) ? UINT64_MAX : product;
}

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t equal_part(uint64_t total_bytes, uint64_t kept_bytes, uint64_t size)
{
    return total_bytes > kept_bytes ? (total_bytes - kept_bytes) / size & ~(SL_BLOCK_BYTES - 1) : 0;
}

static bool is_of_job(const struct sl_node_entry *entry, const struct sl_node_entry *like)
{
    return entry->process && entry->size && like->size && entry->job == like->job &&
           entry->pool == like->pool;
}

/* What others leave to the process in `slot`. A job's first slot stands for all of the job, the others for
 * nothing. */
static uint64_t kept_for(const struct sl_node_table *table, uint32_t slot)
{
    const struct sl_node_entry *entry = &table->entries[slot];
    uint64_t claimed = 0, part = times(entry->part_bytes, entry->size);
    if (!entry->size) return entry->claimed_bytes;
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++) {
        if (!is_of_job(&table->entries[s], entry)) continue;
        if (s < slot) return 0;
        claimed = add(claimed, table->entries[s].claimed_bytes);
    }
    return part > claimed ? claimed + (part - claimed) / 2 : claimed;
}

struct sums {
    uint64_t claimed, kept; /* by all others of the pool; for others than the own job */
};

static struct sums sum_up(const struct sl_node_table *table, uint32_t own, const struct sl_node_entry *self)
{
    struct sums sums = {0};
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++) {
        const struct sl_node_entry *entry = &table->entries[s];
        if (s == own || !entry->process || entry->pool != self->pool) continue;
        sums.claimed = add(sums.claimed, entry->claimed_bytes);
        if (!is_of_job(entry, self)) sums.kept = add(sums.kept, kept_for(table, s));
    }
    return sums;
}

uint64_t sl_shares_total(const struct sl_node_table *table, uint32_t own, uint64_t pool,
                         uint64_t available_bytes, uint64_t most_bytes)
{
    uint64_t total = add(available_bytes, sum_up(table, own, &(struct sl_node_entry){.pool = pool}).claimed);
    total = least(total, most_bytes);
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++) {
        const struct sl_node_entry *entry = &table->entries[s];
        if (s != own && entry->process && entry->pool == pool && entry->total_bytes)
            total = least(total, entry->total_bytes);
    }
    return total;
}

/* The job's process with this rank, or, if `any`, with any rank; NULL: there is none. */
static const struct sl_node_entry *find_rank(const struct sl_node_table *table,
                                             const struct sl_node_entry *self, bool any)
{
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++)
        if (is_of_job(&table->entries[s], self) && (any || table->entries[s].rank == self->rank))
            return &table->entries[s];
    return NULL;
}

void sl_shares_join_job(const struct sl_node_table *table, struct sl_node_entry *self, uint64_t total_bytes)
{
    while (find_rank(table, self, false)) self->job++;
    const struct sl_node_entry *peer = find_rank(table, self, true);
    self->part_bytes = peer && peer->part_bytes
                           ? least(peer->part_bytes, total_bytes)
                           : equal_part(total_bytes, sum_up(table, SL_NODE_SLOTS, self).kept, self->size);
}

uint64_t sl_shares_most(const struct sl_node_table *table, uint32_t own, const struct sl_node_entry *self,
                        uint64_t total_bytes)
{
    struct sums others = sum_up(table, own, self);
    uint64_t left = total_bytes > others.claimed ? total_bytes - others.claimed : 0;
    if (!self->size) return total_bytes > others.kept ? total_bytes - others.kept : 0;
    return least(least(left, self->part_bytes), equal_part(total_bytes, others.kept, self->size));
}
