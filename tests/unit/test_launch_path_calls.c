/* A launch whose chunks are resident makes no system call: it neither sleeps nor polls, takes no lock that
 * others contend for, allocates nothing that has to come from the kernel. A filter kills the process at the
 * first one. (seccomp's strict mode would also forbid reading the processor's counter, which is no call.) */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/runtime.h"
#include "tests/host/backend_host.h"

#define BLOCKS 4

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel kernel = {"kernel", 2, offsets, sizes};
static uint64_t blocks[BLOCKS];

static void launch_all(int rounds)
{
    for (int i = 0; i < rounds * BLOCKS; i++) {
        void *parameters[] = {&blocks[i % BLOCKS], &blocks[(i + 1) % BLOCKS]};
        struct sl_launch launch = {.kind = SL_LAUNCH_KERNEL,
                                   .function = (uint64_t)&kernel,
                                   .grid = {1, 1, 1},
                                   .block = {32, 1, 1},
                                   .parameters = parameters};
        sl_runtime_launch_begin(&launch);
        sl_runtime_launch_end(&launch, true);
    }
}

/* From now on the thread may only write. False: there is no seccomp here. */
static bool forbid_calls(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {.len = sizeof(steps) / sizeof(*steps), .filter = steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void launch_without_calls(const char *daemon, int report)
{
    struct sl_backend backend;
    setenv("SLUICE_DEVICE_BUDGET", "64M", 1);
    setenv("SLUICE_HOST_LIMIT", "1G", 1);
    setenv("SLUICE_DAEMON", daemon, 1);
    sl_runtime_load();
    if (sl_backend_host_new(64 * SL_MIB, &backend) != SL_OK || sl_runtime_start(&backend) != SL_OK) _exit(2);
    for (int i = 0; i < BLOCKS; i++)
        if (sl_runtime_alloc(2 * SL_MIB, 1, 0, NULL, &blocks[i]) != SL_OK) _exit(3);
    launch_all(1000);
    if (!forbid_calls()) _exit(77);
    launch_all(10000);
    if (write(report, "x", 1) == 1)
        for (;;) {
        }
}

static void no_system_call(const char *daemon)
{
    int ends[2], status;
    char done = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) launch_without_calls(daemon, ends[1]);
    close(ends[1]);
    ssize_t got = read(ends[0], &done, 1);
    close(ends[0]);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip(); /* no seccomp here */
    assert_int_equal(got, 1);
}

static void of_the_launching_thread(void **state)
{
    (void)state;
    no_system_call("inline");
}

static void beside_the_daemon(void **state)
{
    (void)state;
    no_system_call("thread");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_launching_thread),
        cmocka_unit_test(beside_the_daemon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
