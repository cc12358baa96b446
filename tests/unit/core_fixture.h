/* A core over the host backend, as a program with a budget of 64 MiB in chunks of 2 MiB has it. */
#ifndef SLUICE_TEST_CORE_FIXTURE_H
#define SLUICE_TEST_CORE_FIXTURE_H

#include <stdint.h>

#include "core/core.h"
#include "tests/host/backend_host.h"

/* Leaves budget and chunk size as they are in the environment. */
extern bool core_say_nothing;

/* CMocka's set-up and tear-down of a group. */
int core_start(void **state);
int core_stop(void **state);

/* For tests that need a core of their own. Starts one in a child, with this SLUICE_DAEMON: true is returned
 * there. The parent waits for the child and expects that it ends well; an assertion that fails ends it. */
bool core_in_child(const char *daemon);
/* Ends the child: well if the budget was kept, nothing went wrong in the device, and `good`. */
void core_end_child(bool good) __attribute__((noreturn));
/* Runs a test that starts its own core, in a child, which ends well if no assertion failed. */
void core_run_in_child(void (*test)(void));
uint64_t core_misses(void); /* demand misses by now */

/* An allocation, of a site of its own or of the given one, which is below 1000. */
uint64_t core_take(uint64_t bytes);
uint64_t core_take_at(uint64_t site, uint64_t bytes);

/* A launch of `kernel` in one dimension; `parameters` outlive it. */
struct sl_launch core_kernel(const struct sl_host_kernel *kernel, void **parameters, uint32_t blocks);

/* The launch's symbol. It is only looked at. */
sl_symbol core_scan(const struct sl_launch *launch);

/* Begins and ends the launch. */
void core_launch(struct sl_launch launch);

#endif
