#include "core_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

bool core_say_nothing;

int core_start(void **state)
{
    (void)state;
    static struct sl_backend backend;
    if (!core_say_nothing) {
        setenv("SLUICE_DEVICE_BUDGET", "64M", 1);
        setenv("SLUICE_CHUNK", "2M", 1);
    }
    sl_runtime_load();
    return sl_backend_host_new(SL_GIB, &backend) || sl_runtime_start(&backend) ? -1 : 0;
}

int core_stop(void **state)
{
    (void)state;
    sl_runtime_stop(false);
    return 0;
}

uint64_t core_take_at(uint64_t site, uint64_t bytes)
{
    uint64_t address;
    assert_int_equal(sl_runtime_alloc(bytes, site, 0, &address), SL_OK);
    return address;
}

uint64_t core_take(uint64_t bytes)
{
    static uint64_t site = 1000;
    return core_take_at(site++, bytes);
}

struct sl_launch core_kernel(const struct sl_host_kernel *kernel, void **parameters, uint32_t blocks)
{
    return (struct sl_launch){.kind = SL_LAUNCH_KERNEL,
                              .function = (uintptr_t)kernel,
                              .grid = {blocks, 1, 1},
                              .block = {32, 1, 1},
                              .parameters = parameters};
}

void core_launch(struct sl_launch launch)
{
    sl_runtime_launch_begin(&launch);
    sl_runtime_launch_end(&launch, true);
}
