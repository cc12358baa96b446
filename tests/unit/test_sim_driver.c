/* What a driver's calls cost, against docs/driver-model.md: n blocks of 2 MiB to the host take c + n x map,
 * to the device unmap + n x c, where c is a block's copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include "tools/sim/sim_driver.h"

#define COPY_NS 40000u

static struct sl_sim_link link_of(uint64_t copy_ns)
{
    double speed = (double)SL_BLOCK_BYTES / (double)copy_ns;
    return (struct sl_sim_link){.bytes_per_ns = {speed, speed}, .both = 1};
}

/* How long the movement takes with the link to itself. */
static double time_of(const struct sl_sim_driver *driver, enum sl_sim_way way, uint64_t copy_ns,
                      struct sl_sim_moved moved)
{
    struct sl_sim_link link = link_of(copy_ns);
    struct sl_sim_clock *clock = sl_sim_clock_new(&link, driver->workers, NULL);
    struct sl_sim_work work = sl_sim_driver_work(driver, &link, way, &moved);
    struct sl_sim_mark mark;
    uint32_t stream;
    uint64_t now_ns;
    assert_true(clock && sl_sim_stream_new(clock, &stream));
    assert_true(sl_sim_push(clock, stream, 0, &work) && sl_sim_mark(clock, stream, 0, &mark));
    assert_true(sl_sim_run_to_end(clock, &now_ns));
    sl_sim_clock_delete(clock);
    return mark.time_ns;
}

static void test_to_the_host(void **state)
{
    (void)state;
    const struct sl_sim_driver *real = &sl_sim_drivers[SL_SIM_580];
    for (uint32_t n = 1; n <= 32; n *= 2) {
        struct sl_sim_moved moved = {.copied = n, .mapped = n};
        assert_float_equal(time_of(real, SL_SIM_OUT, COPY_NS, moved), COPY_NS + n * real->map_ns, 1);
        /* On a slow link the copies take longest, and the last block is mapped when it is there. */
        assert_float_equal(time_of(real, SL_SIM_OUT, 10 * COPY_NS, moved), n * 10 * COPY_NS + real->map_ns,
                           1);
    }
    assert_float_equal(time_of(real, SL_SIM_OUT, COPY_NS, (struct sl_sim_moved){.remapped = 3}),
                       3 * real->remap_ns, 1);
}

static void test_to_the_device(void **state)
{
    (void)state;
    const struct sl_sim_driver *real = &sl_sim_drivers[SL_SIM_580];
    for (uint32_t n = 1; n <= 32; n *= 2) {
        struct sl_sim_moved moved = {.copied = n, .unmapped = n};
        assert_float_equal(time_of(real, SL_SIM_IN, COPY_NS, moved), real->unmap_ns + n * COPY_NS, 1);
        assert_float_equal(time_of(real, SL_SIM_IN, COPY_NS, (struct sl_sim_moved){.copied = n}), n * COPY_NS,
                           1);
    }
}

static void test_an_ideal_driver_only_copies(void **state)
{
    (void)state;
    const struct sl_sim_driver *ideal = &sl_sim_drivers[SL_SIM_IDEAL];
    struct sl_sim_moved moved = {.copied = 4, .mapped = 4, .unmapped = 4, .remapped = 4};
    for (int way = 0; way < SL_SIM_WAYS; way++)
        assert_float_equal(time_of(ideal, (enum sl_sim_way)way, COPY_NS, moved), 4 * COPY_NS, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_to_the_host),
        cmocka_unit_test(test_to_the_device),
        cmocka_unit_test(test_an_ideal_driver_only_copies),
    };
    return cmocka_run_group_tests_name("sim driver", tests, NULL, NULL);
}
