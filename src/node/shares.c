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

/* The job's first entry represents all of them. */
static bool is_first_of_job(const struct sl_node_entry *others, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (others[i].job == others[index].job && others[i].pool == others[index].pool) return false;
    return true;
}

/* Jobs that cannot be distinguished have each rank several times. */
static uint64_t count_rank(const struct sl_node_entry *others, uint32_t count,
                           const struct sl_node_entry *like, uint64_t rank)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += others[i].job == like->job && others[i].pool == like->pool && others[i].rank == rank;
    return found;
}

struct job {
    uint64_t members, jobs;
    uint64_t promised_bytes, taken_bytes;
    uint64_t least_bytes; /* least promise to a process; UINT64_MAX: none is present */
};

static struct job job_like(const struct sl_node_entry *others, uint32_t count,
                           const struct sl_node_entry *like)
{
    struct job job = {.least_bytes = UINT64_MAX};
    for (uint32_t i = 0; i < count; i++) {
        if (others[i].job != like->job || others[i].pool != like->pool) continue;
        uint64_t same = count_rank(others, count, like, others[i].rank);
        if (same > job.jobs) job.jobs = same;
        job.members++;
        job.promised_bytes = add(job.promised_bytes, others[i].promised_bytes);
        job.taken_bytes = add(job.taken_bytes, others[i].taken_bytes);
        if (others[i].promised_bytes < job.least_bytes) job.least_bytes = others[i].promised_bytes;
    }
    return job;
}

/* Processes that are not present yet count with the least promise, that of the latest job. */
static uint64_t held_by_job(const struct sl_node_entry *others, uint32_t count,
                            const struct sl_node_entry *like)
{
    struct job job = job_like(others, count, like);
    uint64_t size = like->size < SL_LOCAL_RANKS_MOST ? like->size : SL_LOCAL_RANKS_MOST;
    uint64_t ranks = job.jobs * size, missing = ranks > job.members ? ranks - job.members : 0;
    uint64_t promised = add(job.promised_bytes, times(job.least_bytes, missing));
    return promised > job.taken_bytes ? job.taken_bytes + (promised - job.taken_bytes) / 2 : promised;
}

uint64_t sl_shares_kept(const struct sl_node_entry *others, uint32_t count, uint64_t pool, uint64_t job)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (others[i].pool != pool || (job && others[i].job == job)) continue;
        if (!others[i].job)
            sum = add(sum, others[i].promised_bytes);
        else if (is_first_of_job(others, i))
            sum = add(sum, held_by_job(others, count, &others[i]));
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

uint64_t sl_shares_fair(const struct sl_node_entry *others, uint32_t count, const struct sl_node_entry *self,
                        uint64_t total_bytes)
{
    struct job job = job_like(others, count, self);
    bool is_first = count_rank(others, count, self, self->rank) == job.jobs;
    if (!is_first && job.least_bytes) return job.least_bytes < total_bytes ? job.least_bytes : total_bytes;
    uint64_t kept = sl_shares_kept(others, count, self->pool, 0);
    uint64_t left = total_bytes > kept ? total_bytes - kept : 0;
    return left / self->size & ~(SL_BLOCK_BYTES - 1);
}
