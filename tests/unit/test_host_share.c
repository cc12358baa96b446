/* Host memory that processes share: together they never have more than there is, each rank of a job has what
 * it was promised, and what a dead one had is there for the others. Two shares in one process are as two
 * processes here. */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/options.h"
#include "core/host_share.h"
#include "kernel_files.h"

#define TOTAL (100 * SL_MIB)

static char folder[] = "/tmp/sluice-share-XXXXXX", path[64];
static struct sl_options options;

static unsigned bus;

/* The linker gives the code under test these for open(): while a test has files for it, they stand for the
 * kernel's. */
static bool kernel_is_ours;
int __real_open(const char *at, int flags, ...);
int __wrap_open(const char *at, int flags, ...);
int __wrap_open64(const char *at, int flags, ...);

int __wrap_open(const char *at, int flags, ...)
{
    char ours[1024];
    va_list more;
    va_start(more, flags);
    unsigned mode = flags & O_CREAT ? va_arg(more, unsigned) : 0;
    va_end(more);
    bool kernels = !strncmp(at, "/proc/", 6) || !strncmp(at, "/sys/", 5);
    snprintf(ours, sizeof(ours), "%s%s", kernel_is_ours && kernels ? kernel_files : "", at);
    return __real_open(ours, flags, mode);
}

int __wrap_open64(const char *at, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    unsigned mode = flags & O_CREAT ? va_arg(more, unsigned) : 0;
    va_end(more);
    return __wrap_open(at, flags, mode);
}

static bool place(void *self, struct sl_device_place *out)
{
    (void)self;
    *out = (struct sl_device_place){.bus = bus};
    return bus > 0;
}

static int remove_one(const char *at, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(at);
}
static const struct sl_backend device = {.place = place}, no_device;

struct process {
    struct sl_host_share share;
    struct sl_host_part part;
    struct sl_placement placement;
    struct sl_arena arena;
};

static void be_alone(void)
{
    unsetenv("LOCAL_RANK");
    unsetenv("LOCAL_WORLD_SIZE");
    sl_launcher_note();
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof(path), "%s/node", folder);
    be_alone();
    options = (struct sl_options){.node = path, .sysfs = "", .node_limit = TOTAL};
    return 0;
}

/* Fails where a file was left behind. */
static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

static struct process *start(const struct sl_backend *backend)
{
    struct process *process = calloc(1, sizeof(*process));
    assert_non_null(process);
    process->arena.chunk_bytes = 2 * SL_MIB;
    process->placement.arena = &process->arena;
    sl_host_share_begin(&process->share, &options, backend, UINT64_MAX);
    sl_host_part_begin(&process->part, &process->share, &process->placement, backend, true);
    return process;
}

static void end(struct process *process)
{
    sl_host_share_end(&process->share);
    free(process);
}

static uint64_t room(const struct process *process)
{
    return process->placement.live_chunk_bytes_limit - process->arena.virtual_bytes_used;
}

/* What the program is told. */
static uint64_t room_of(struct process *process)
{
    return sl_host_share_unclaimed(&process->share) + sl_host_part_unused(&process->part);
}

static void give(struct process *process, uint64_t bytes)
{
    process->arena.virtual_bytes_used -= bytes;
    sl_host_part_changed(&process->part);
}

/* As an allocation does it. */
static bool take(struct process *process, uint64_t bytes)
{
    sl_host_part_prepare(&process->part, bytes);
    if (bytes > room(process) && (!sl_host_part_more(&process->part, bytes) || bytes > room(process)))
        return false;
    process->arena.virtual_bytes_used += bytes;
    sl_host_part_changed(&process->part);
    return true;
}

static void be_rank(const char *rank, const char *size)
{
    setenv("LOCAL_RANK", rank, 1);
    setenv("LOCAL_WORLD_SIZE", size, 1);
    sl_launcher_note();
}

static void each_rank_has_an_equal_part(void **state)
{
    (void)state;
    be_rank("0", "4");
    assert_int_equal(sl_host_share_foresee(&options), 24 * SL_MIB);
    struct process *first = start(&device);
    assert_true(take(first, 24 * SL_MIB));
    assert_false(take(first, 2 * SL_MIB)); /* though nobody else is there yet */
    be_rank("3", "4");
    assert_int_equal(sl_host_share_foresee(&options), 24 * SL_MIB);
    struct process *last = start(&device);
    assert_true(take(last, 24 * SL_MIB));
    assert_false(take(last, 2 * SL_MIB));
    be_alone();
    /* Who is by himself gets what no rank has taken, less half of what ranks may still take. */
    assert_int_equal(sl_host_share_foresee(&options), 28 * SL_MIB);
    struct process *other = start(&device);
    assert_true(take(other, 28 * SL_MIB));
    assert_false(take(other, 2 * SL_MIB));
    end(other);
    end(first);
    end(last);
}

static void what_one_has_another_does_not_get(void **state)
{
    (void)state;
    struct process *one = start(&device), *two = start(&device);
    assert_true(take(one, 60 * SL_MIB));
    assert_true(take(two, 30 * SL_MIB));
    assert_true(take(two, 8 * SL_MIB));
    assert_false(take(two, 4 * SL_MIB));
    assert_false(take(one, 4 * SL_MIB));
    give(one, 60 * SL_MIB);
    assert_true(take(two, 40 * SL_MIB));
    assert_false(take(one, 30 * SL_MIB));
    end(two);
    assert_true(take(one, TOTAL));
    end(one);
}

static void a_limit_that_the_user_gave_is_kept(void **state)
{
    (void)state;
    options.host_limit = 80 * SL_MIB;
    be_rank("0", "4");
    assert_int_equal(sl_host_share_foresee(&options), 80 * SL_MIB);
    struct process *told = start(&device);
    assert_true(take(told, 80 * SL_MIB));
    assert_false(take(told, 2 * SL_MIB));
    options.host_limit = 0;
    be_alone();
    struct process *other = start(&device);
    assert_true(take(other, 20 * SL_MIB)); /* it sees what was taken */
    assert_false(take(other, 2 * SL_MIB));
    end(other);
    end(told);
}

/* What the others see follows in steps, but a process never has more than it has claimed. */
static void claims_are_made_in_steps(void **state)
{
    (void)state;
    static struct sl_node_table seen;
    uint64_t taken = 0, claimed = 0, small = 2 * SL_MIB, step = 8 * SL_MIB, claims = 0;
    uint32_t count;
    options.node_limit = SL_GIB;
    options.host_limit = 512 * SL_MIB;
    struct process *told = start(&device);
    for (int i = 0; i < 200; i++) {
        if (i < 100)
            assert_true(take(told, small));
        else
            give(told, small);
        taken = told->arena.virtual_bytes_used;
        assert_int_equal(sl_node_look(path, &seen, &count), SL_OK);
        assert_int_equal(count, 1);
        assert_in_range(seen.entries[0].claimed_bytes, taken, taken + 2 * step);
        claims += seen.entries[0].claimed_bytes != claimed;
        claimed = seen.entries[0].claimed_bytes;
    }
    assert_in_range(claims, 2, 60);
    for (int i = 0; i < 100; i++) { /* a program in its steady state */
        if (i % 2)
            give(told, step);
        else
            assert_true(take(told, step));
        sl_node_look(path, &seen, &count);
        claims += seen.entries[0].claimed_bytes != claimed;
        claimed = seen.entries[0].claimed_bytes;
    }
    assert_in_range(claims, 2, 62);
    assert_true(take(told, 512 * SL_MIB));
    assert_int_equal(sl_node_look(path, &seen, &count), SL_OK);
    assert_int_equal(seen.entries[0].claimed_bytes, 512 * SL_MIB);
    end(told);
}

static void the_dead_have_nothing(void **state)
{
    (void)state;
    int ready[2], status;
    char byte;
    struct process *one = start(&device);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (!child) {
        if (!take(start(&device), 90 * SL_MIB) || write(ready[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    assert_false(take(one, 50 * SL_MIB));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(take(one, TOTAL));
    end(one);
}

/* Another's file there: as without, but for what the launcher says. */
static void without_a_page_each_is_alone(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    struct process *one = start(&device), *two = start(&device);
    assert_true(take(one, TOTAL));
    assert_true(take(two, TOTAL));
    assert_false(take(two, 2 * SL_MIB));
    end(one);
    end(two);
    be_rank("1", "2");
    one = start(&device);
    assert_true(take(one, 50 * SL_MIB));
    assert_false(take(one, 2 * SL_MIB));
    end(one);
    assert_int_equal(rmdir(path), 0);
    be_alone();
    struct stat none;
    one = start(&no_device); /* a simulated one takes nothing of the machine */
    assert_int_not_equal(stat(path, &none), 0);
    assert_true(take(one, TOTAL));
    end(one);
}

/* One process takes all of the machine to be smaller than another does. */
static void more_than_there_is_leaves_nothing(void **state)
{
    (void)state;
    struct process *one = start(&device);
    assert_true(take(one, 20 * SL_MIB));
    options.node_limit = 40 * SL_MIB;
    struct process *two = start(&device);
    assert_false(take(one, 30 * SL_MIB)); /* the smaller total counts */
    options.node_limit = 10 * SL_MIB;
    assert_int_equal(sl_host_share_foresee(&options), 0);
    assert_true(take(two, 20 * SL_MIB));
    assert_false(take(two, 2 * SL_MIB));
    end(one);
    assert_false(take(two, 2 * SL_MIB)); /* it was told at the start how much it has */
    end(two);
}

/* What is known of the link until it is measured depends on it. */
static void a_link_is_shared_by_those_at_its_end(void **state)
{
    (void)state;
    char devices[96], entry[160];
    snprintf(devices, sizeof(devices), "%s/bus/pci/devices", folder);
    for (char *slash = devices + strlen(folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        assert_int_equal(mkdir(devices, 0700), 0);
    }
    assert_int_equal(mkdir(devices, 0700), 0);
    options.sysfs = folder;
    struct process *processes[4];
    for (bus = 1; bus <= 3; bus++) {
        snprintf(entry, sizeof(entry), "%s/0000:%02x:00.0", devices, bus);
        assert_int_equal(symlink(bus < 3 ? "../../../devices/pci0000:00/0000:00:01.0/x"
                                         : "../../../devices/pci0000:00/0000:00:02.0/x",
                                 entry),
                         0);
        processes[bus - 1] = start(&device);
    }
    processes[3] = start(&device); /* where it is the kernel does not say */
    static const uint32_t others[] = {1, 1, 0, 0};
    for (int i = 0; i < 4; i++)
        assert_int_equal(sl_host_share_others_on_link(&processes[i]->share, processes[i]->part.link),
                         others[i]);
    end(processes[0]);
    assert_int_equal(sl_host_share_others_on_link(&processes[1]->share, processes[1]->part.link), 0);
    for (int i = 1; i < 4; i++) end(processes[i]);
    assert_int_equal(nftw(devices, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    for (char *slash; (slash = strrchr(devices, '/')) > devices + strlen(folder) - 1;) {
        *slash = 0;
        if (strcmp(devices, folder)) assert_int_equal(rmdir(devices), 0);
    }
    bus = 0;
}

enum { PROCESSES = 8, TURNS = 3000 };

/* What processes really have, each in an entry of its own, and what they may have together. */
struct held {
    _Atomic uint64_t bytes[PROCESSES], total;
};

static uint64_t sum_of(struct held *held)
{
    uint64_t sum = 0;
    for (int p = 0; p < PROCESSES; p++) sum += atomic_load(&held->bytes[p]);
    return sum;
}

/* Allocates and frees as fast as it can. What it frees it first takes off what it holds, and what it gets it
 * adds afterwards, so that the sum is never more than what was given out. */
static void allocate_and_free(struct held *held, int number, int turns)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* where the test fails */
    struct process *process = start(&device);
    unsigned random = 7u + (unsigned)number;
    for (int i = 0; turns < 0 || i < turns; i++) {
        random = random * 1103515245u + 12345u;
        uint64_t bytes = 2 * SL_MIB * (1 + (random >> 16) % 12), has = process->arena.virtual_bytes_used;
        if (random >> 30 && has >= bytes) {
            atomic_fetch_sub(&held->bytes[number], bytes);
            give(process, bytes);
        } else if (take(process, bytes)) {
            atomic_fetch_add(&held->bytes[number], bytes);
            if (sum_of(held) > held->total) _exit(2);
        }
    }
    atomic_store(&held->bytes[number], 0);
    end(process);
    _exit(0);
}

static struct held *held_new(uint64_t total_bytes)
{
    struct held *held = mmap(NULL, sizeof(*held), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(held, MAP_FAILED);
    held->total = total_bytes;
    return held;
}

static void together_they_never_have_more(void **state)
{
    (void)state;
    struct held *held = held_new(TOTAL);
    pid_t children[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        if (!children[p]) allocate_and_free(held, p, TURNS);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        assert_int_equal(waitpid(children[p], &status, 0), children[p]);
        assert_int_equal(status, 0);
    }
    munmap(held, sizeof(*held));
}

/* What a process held is there for others as soon as it is dead, so it is taken off the books before. */
static void stop_and_kill(struct held *held, int number, pid_t child)
{
    int status;
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status)); /* and it has not seen more than there is */
    atomic_store(&held->bytes[number], 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
}

/* They are killed at any moment, also with the lock, and others come in their place. */
static void nor_when_they_are_killed(void **state)
{
    (void)state;
    struct held *held = held_new(TOTAL);
    pid_t children[PROCESSES] = {0};
    for (int turn = 0; turn < 26 * PROCESSES; turn++) {
        int p = turn % PROCESSES;
        if (children[p]) stop_and_kill(held, p, children[p]);
        if (turn >= 25 * PROCESSES) continue;
        children[p] = fork();
        if (!children[p]) allocate_and_free(held, p, -1);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    struct process *last = start(&device);
    assert_true(take(last, TOTAL));
    end(last);
    munmap(held, sizeof(*held));
}

/* A container with 800 MiB: a reserve of 100, half of which others may use. */
static void be_in_a_container(uint64_t used_mib)
{
    kernel_is_ours = true;
    put("/proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable: 32000000 kB\n");
    put("/proc/self/cgroup", "0::/\n");
    put_number("/sys/fs/cgroup/memory.max", 800 * SL_MIB);
    put_number("/sys/fs/cgroup/memory.current", used_mib * SL_MIB);
}

static int set_up_container(void **state)
{
    make_kernel_files(state);
    int result = set_up(state);
    options.node_limit = 0;
    be_in_a_container(0);
    return result;
}

static int tear_down_container(void **state)
{
    kernel_is_ours = false;
    remove_kernel_files(state);
    return tear_down(state);
}

/* Else the kernel ends the program for what it pinned, or took otherwise, after the start. */
static void what_others_take_lowers_the_limit(void **state)
{
    (void)state;
    struct process *process = start(&device);
    assert_int_equal(process->share.limit_bytes, 700 * SL_MIB);
    assert_true(take(process, 100 * SL_MIB)); /* the arena here has no pages: all of it is still to come */
    be_in_a_container(40);                    /* the reserve is for this */
    assert_true(take(process, 100 * SL_MIB));
    assert_int_equal(process->share.limit_bytes, 700 * SL_MIB);
    be_in_a_container(450);
    assert_false(take(process, 102 * SL_MIB));
    assert_true(take(process, 100 * SL_MIB));
    assert_false(take(process, 2 * SL_MIB));
    assert_int_equal(room_of(process), 0);
    be_in_a_container(0);                                       /* they gave it back */
    process->share.looked_at_ns = sl_clock_ns(CLOCK_MONOTONIC); /* the last look is not long ago */
    assert_int_equal(room_of(process), 0);
    process->share.looked_at_ns = 0;
    assert_int_equal(room_of(process), 400 * SL_MIB);
    assert_false(take(process, 402 * SL_MIB));
    assert_true(take(process, 400 * SL_MIB));
    end(process);
}

/* Most allocations look at nothing. */
static void looks_are_few(void **state)
{
    (void)state;
    struct process *process = start(&device);
    uint64_t looks = 0, looked = process->share.looked_at_ns;
    for (int i = 0; i < 350; i++) {
        assert_true(take(process, 2 * SL_MIB));
        looks += process->share.looked_at_ns != looked;
        looked = process->share.looked_at_ns;
    }
    assert_in_range(looks, 10, 60);
    for (int i = 0; i < 50; i++) {
        give(process, 4 * SL_MIB);
        assert_true(take(process, 4 * SL_MIB)); /* a program in its steady state */
    }
    assert_true(process->share.looked_at_ns == looked);
    end(process);
}

static void ranks_have_less_together(void **state)
{
    (void)state;
    be_rank("0", "2");
    struct process *first = start(&device);
    be_rank("1", "2");
    struct process *second = start(&device);
    assert_int_equal(second->share.limit_bytes, 350 * SL_MIB);
    be_in_a_container(350);
    assert_false(take(second, 202 * SL_MIB));
    assert_true(take(second, 200 * SL_MIB));
    end(second);
    end(first);
}

/* It is kept as far as there is so much. */
static void a_limit_that_the_user_gave_is_no_memory(void **state)
{
    (void)state;
    options.host_limit = 2 * SL_GIB;
    struct process *process = start(&device);
    assert_false(take(process, 752 * SL_MIB));
    assert_true(take(process, 750 * SL_MIB));
    end(process);
}

static void pinned_memory_is_refused_before_the_kernel_does(void **state)
{
    (void)state;
    struct process *process = start(&device);
    assert_true(take(process, 300 * SL_MIB));
    assert_false(sl_host_share_take_pinnable(&process->share, 451 * SL_MIB));
    assert_true(sl_host_share_take_pinnable(&process->share, 440 * SL_MIB));
    be_in_a_container(440);
    assert_false(sl_host_share_take_pinnable(&process->share, 11 * SL_MIB));
    assert_false(take(process, 12 * SL_MIB));
    assert_true(sl_host_part_trim(&process->part)); /* what is claimed ahead may be pinned */
    assert_false(sl_host_share_take_pinnable(&process->share, 11 * SL_MIB));
    assert_int_equal(sl_host_share_device_room(&process->share), UINT64_MAX);
    process->share.of_device = true;
    assert_int_equal(sl_host_share_device_room(&process->share), 10 * SL_MIB);
    end(process);
    process = start(&no_device); /* a simulated one */
    assert_true(sl_host_share_take_pinnable(&process->share, SL_GIB));
    end(process);
}

static void nothing_is_left(void **state)
{
    (void)state;
    char why[SL_HOST_SHARE_WHY];
    be_in_a_container(705);
    assert_int_equal(sl_host_share_foresee(&options), 0);
    assert_string_equal(
        sl_host_share_why_nothing(&options, why),
        "95 MiB of the cgroup's limit are free, and the reserve is 100 MiB (SLUICE_HOST_RESERVE)");
    options.host_reserve = 1;
    assert_in_range(sl_host_share_foresee(&options), 94 * SL_MIB, 95 * SL_MIB);
}

/* The container has less. */
static void a_rehearsed_host_has_what_is_said(void **state)
{
    (void)state;
    options.host_memory = 64 * SL_GIB;
    assert_int_equal(sl_host_share_foresee(&options), 63 * SL_GIB);
    struct process *process = start(&device);
    assert_true(take(process, 40 * SL_GIB));
    be_in_a_container(799);
    assert_true(take(process, 20 * SL_GIB));
    assert_false(take(process, 4 * SL_GIB));
    assert_false(sl_host_share_take_pinnable(&process->share, 4 * SL_GIB));
    assert_true(sl_host_share_take_pinnable(&process->share, 3 * SL_GIB));
    end(process);
}

/* Both what runs here in truth and another rehearsal have memory of their own. */
static void a_rehearsed_host_is_the_process_s_own(void **state)
{
    (void)state;
    struct process *real = start(&device);
    assert_true(take(real, 100 * SL_MIB));
    options.host_memory = 64 * SL_GIB;
    struct process *rehearsed = start(&device);
    assert_true(take(rehearsed, 60 * SL_GIB));
    pid_t child = fork();
    if (!child) _exit(!take(start(&device), 60 * SL_GIB));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    end(rehearsed);
    options.host_memory = 0;
    assert_true(take(real, 100 * SL_MIB));
    end(real);
}

static void ranks_share_a_rehearsed_host(void **state)
{
    (void)state;
    options.host_memory = 64 * SL_GIB;
    be_rank("0", "2");
    struct process *first = start(&device);
    be_rank("1", "2");
    struct process *second = start(&device);
    assert_int_equal(first->share.limit_bytes, 63 * SL_GIB / 2);
    assert_int_equal(second->share.limit_bytes, 63 * SL_GIB / 2);
    end(second);
    end(first);
    be_alone();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_rank_has_an_equal_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_one_has_another_does_not_get, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_limit_that_the_user_gave_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(claims_are_made_in_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_dead_have_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_page_each_is_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_than_there_is_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_link_is_shared_by_those_at_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_others_take_lowers_the_limit, set_up_container,
                                        tear_down_container),
        cmocka_unit_test_setup_teardown(a_rehearsed_host_is_the_process_s_own, set_up_container,
                                        tear_down_container),
        cmocka_unit_test_setup_teardown(ranks_share_a_rehearsed_host, set_up_container, tear_down_container),
        cmocka_unit_test_setup_teardown(a_rehearsed_host_has_what_is_said, set_up_container,
                                        tear_down_container),
        cmocka_unit_test_setup_teardown(looks_are_few, set_up_container, tear_down_container),
        cmocka_unit_test_setup_teardown(ranks_have_less_together, set_up_container, tear_down_container),
        cmocka_unit_test_setup_teardown(a_limit_that_the_user_gave_is_no_memory, set_up_container,
                                        tear_down_container),
        cmocka_unit_test_setup_teardown(pinned_memory_is_refused_before_the_kernel_does, set_up_container,
                                        tear_down_container),
        cmocka_unit_test_setup_teardown(nothing_is_left, set_up_container, tear_down_container),
        cmocka_unit_test_setup_teardown(together_they_never_have_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nor_when_they_are_killed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
