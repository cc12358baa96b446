#include "node/shares.h"

#include "base/launcher.h"

static uint64_t add(uint64_t one, uint64_t other)
{
    return one + other < one ? UINT64_MAX : one + other;
}

static uint64_t times(uint64_t bytes, uint64_t count)
{
    uint64_t product;
    return __builtin_mul_overflow(bytes, count, &product) ? UINT64_MAX : product;
}

/* The job's first entry stands for all of them. */
static bool is_first_of_job(const struct sl_node_entry *others, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (others[i].job == others[index].job && others[i].pool == others[index].pool) return false;
    return true;
}

static uint64_t held_by_job(const struct sl_node_entry *others, uint32_t count, uint32_t first)
{
    uint64_t members = 0, each = 0, taken = 0, size = others[first].size;
    if (size > SL_LOCAL_RANKS_MOST) size = SL_LOCAL_RANKS_MOST;
    for (uint32_t i = first; i < count; i++) {
        if (others[i].job != others[first].job || others[i].pool != others[first].pool) continue;
        members++;
        taken = add(taken, others[i].taken_bytes);
        if (others[i].promised_bytes > each) each = others[i].promised_bytes;
    }
    uint64_t promised = times(each, members > size ? members : size);
    return promised > taken ? taken + (promised - taken) / 2 : promised;
}

uint64_t sl_shares_kept(const struct sl_node_entry *others, uint32_t count, uint64_t pool, uint64_t job)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (others[i].pool != pool || (job && others[i].job == job)) continue;
        if (!others[i].job)
            sum = add(sum, others[i].promised_bytes);
        else if (is_first_of_job(others, i))
            sum = add(sum, held_by_job(others, count, i));
    }
    return sum;
}

uint64_t sl_shares_total(const struct sl_node_entry *others, uint32_t count, uint64_t pool,
                         uint64_t available_bytes)
{
    uint64_t total = available_bytes, most = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (others[i].pool != pool) continue;
        total = add(total, others[i].taken_bytes);
        if (others[i].total_bytes && others[i].total_bytes < most) most = others[i].total_bytes;
    }
    return total < most ? total : most;
}

uint64_t sl_shares_fair(const struct sl_node_entry *others, uint32_t count, uint64_t pool, uint64_t job,
                        uint64_t size, uint64_t total_bytes)
{
    for (uint32_t i = 0; i < count; i++)
        if (others[i].pool == pool && others[i].job == job && others[i].promised_bytes)
            return others[i].promised_bytes < total_bytes ? others[i].promised_bytes : total_bytes;
    uint64_t promised = sl_shares_kept(others, count, pool, 0);
    uint64_t left = total_bytes > promised ? total_bytes - promised : 0;
    return left / size & ~(SL_BLOCK_BYTES - 1);
}
