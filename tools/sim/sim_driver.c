#include "tools/sim/sim_driver.h"

const char *const sl_sim_driver_names[] = {[SL_SIM_IDEAL] = "ideal", [SL_SIM_580] = "580", NULL};

const struct sl_sim_driver sl_sim_drivers[] = {
    [SL_SIM_IDEAL] = {.number = SL_SIM_IDEAL, .both_percent = 92},
    [SL_SIM_580] = {.number = SL_SIM_580,
                    .map_ns = 100000,
                    .unmap_ns = 16000,
                    .remap_ns = 100000,
                    .discard_ns = 20000,
                    .retire_ns = 5000,
                    .both_percent = 75,
                    .workers = 1},
};

/* To the device, the first block is unmapped, and then each next one while one is copied. To the host, all
 * blocks are copied, and each is mapped when it is there: with several, others may have the range only behind
 * the call, though they could work on it while its first block is copied. */
struct sl_sim_work sl_sim_driver_work(const struct sl_sim_driver *driver, const struct sl_sim_link *link,
                                      enum sl_sim_way way, const struct sl_sim_moved *moved)
{
    struct sl_sim_work work = {0};
    uint64_t copy_ns = moved->copied ? (uint64_t)((double)SL_BLOCK_BYTES / link->bytes_per_ns[way]) : 0;
    work.bytes[way] = (double)moved->copied * SL_BLOCK_BYTES;
    work.moves = true;
    work.way = way;
    if (!driver->workers) return work;
    work.fixed_ns = copy_ns + (uint64_t)moved->remapped * driver->remap_ns;
    if (moved->unmapped) work.ranged = SL_SIM_RANGE_BEFORE;
    if (moved->mapped) work.ranged = SL_SIM_RANGE_AFTER;
    if (moved->mapped > 1 || moved->remapped) work.ranged = SL_SIM_RANGE_ALWAYS;
    if (moved->unmapped) {
        work.before_ns = driver->unmap_ns;
        work.fixed_ns += (uint64_t)(moved->unmapped - 1) * driver->unmap_ns;
    }
    if (moved->mapped) {
        work.after_ns = driver->map_ns;
        work.fixed_ns += (uint64_t)(moved->mapped - 1) * driver->map_ns;
    }
    return work;
}
