/* fork before and after the first CUDA call, and a clone() that no fork handler sees. A child must neither
 * write the parent's files, nor wait for a lock or a thread that only the parent has. */
#include "device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define VIRTUAL_BYTES (768 * MIB)
#ifdef __SANITIZE_THREAD__ /* whose memory a fork copies, too */
#define FORKS 10
#else
#define FORKS 50
#endif

static int exit_code(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int train_a_little(void)
{
    CUdeviceptr address;
    size_t free_bytes, total_bytes;
    unsigned char value = 0;
    if (use_device(NULL) || cuMemAlloc(&address, 300 * MIB)) return 2;
    if (cuMemsetD8(address, 42, 300 * MIB) || cuMemcpyDtoH(&value, address + 299 * MIB, 1)) return 3;
    if (value != 42 || cuMemFree(address)) return 4;
    if (cuMemGetInfo(&free_bytes, &total_bytes) || total_bytes != VIRTUAL_BYTES) return 5;
    return 0;
}

static void fork_before_the_first_call(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (!child) _exit(train_a_little());
        assert_int_equal(exit_code(child), 0);
    }
}

static void fork_after_it(void **state)
{
    (void)state;
    const char *stats = getenv("SLUICE_STATS");
    assert_non_null(stats);
    unlink(stats);
    assert_int_equal(train_a_little(), 0);
    pid_t child = fork();
    if (!child) {
        size_t free_bytes, total_bytes;
        cuMemGetInfo(&free_bytes, &total_bytes); /* fails or not; it must return */
        exit(0);
    }
    assert_int_equal(exit_code(child), 0);
    assert_int_not_equal(access(stats, F_OK), 0);
    assert_int_equal(train_a_little(), 0);
}

static void clone_after_it(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* its runtime does not know of the child, and takes the parent's threads for the child's */
#endif
    const char *stats = getenv("SLUICE_STATS");
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (!child) {
        size_t free_bytes, total_bytes;
        cuMemGetInfo(&free_bytes, &total_bytes);
        exit(0);
    }
    assert_int_equal(exit_code(child), 0);
    assert_int_not_equal(access(stats, F_OK), 0);
    assert_int_equal(train_a_little(), 0);
}

static void *allocate_for_ever(void *stop)
{
    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED)) {
        CUdeviceptr address;
        if (!cuMemAlloc(&address, 4096)) cuMemFree(address);
        dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
    }
    return NULL;
}

/* Locks of the shim and the core may be held by the other thread at that moment. */
static void fork_while_another_thread_works(void **state)
{
    (void)state;
    bool stop = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, allocate_for_ever, &stop), 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (!child) {
            size_t free_bytes, total_bytes;
            cuMemGetInfo(&free_bytes, &total_bytes);
            dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
            _exit(0);
        }
        assert_int_equal(exit_code(child), 0);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fork_before_the_first_call),
        cmocka_unit_test(fork_after_it),
        cmocka_unit_test(clone_after_it),
        cmocka_unit_test(fork_while_another_thread_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
