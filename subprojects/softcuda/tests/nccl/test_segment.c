/* The shared memory of a communicator, and what comes out of it. Breaks if a segment of another communicator,
 * size or version is taken for the right one, if what dead ranks left is not removed or what living ones use
 * is, if ranks that come at once do not all get the same, if numbers that another process wrote lead outside
 * of the slots, or if a process that ended is taken for one that runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nccl/collective.h"
#include "nccl/times.h"

static struct sc_key fresh_key(void)
{
    struct sc_key key;
    assert_int_equal(getrandom(&key, sizeof key, 0), sizeof key);
    return key;
}

static bool exists(const struct sc_segment *segment)
{
    int file = shm_open(segment->name, O_RDWR, 0);
    if (file >= 0) close(file);
    return file >= 0;
}

static void is_refused(const struct sc_key *key, unsigned ranks)
{
    struct sc_segment other;
    assert_int_equal(sc_segment_open(key, ranks, &other), SC_SEGMENT_MISMATCH);
    assert_int_equal(other.file, -1);
}

static void test_header(void **state)
{
    (void)state;
    struct sc_key key = fresh_key(), wrong = key;
    struct sc_segment first, second;
    assert_int_equal(sc_segment_open(&key, 3, &first), SC_SEGMENT_OK);
    assert_int_equal(sc_segment_open(&key, 3, &second), SC_SEGMENT_OK);
    sc_segment_close(&second);
    is_refused(&key, 2);
    is_refused(&key, 4);
    wrong.words[3]++;
    is_refused(&wrong, 3);
    /* Any bit but those behind `attached`, which the ranks change. */
    for (size_t byte = 0; byte < offsetof(struct sc_segment_header, attached); byte++) {
        first.base[byte] ^= 0x10;
        is_refused(&key, 3);
        first.base[byte] ^= 0x10;
    }
    assert_int_equal(ftruncate(first.file, (off_t)first.bytes - 4096), 0);
    is_refused(&key, 3);
    assert_int_equal(ftruncate(first.file, (off_t)first.bytes + 4096), 0);
    is_refused(&key, 3);
    assert_int_equal(ftruncate(first.file, (off_t)first.bytes), 0);
    assert_int_equal(fchmod(first.file, 0644), 0);
    is_refused(&key, 3);
    assert_int_equal(fchmod(first.file, 0600), 0);
    assert_int_equal(sc_segment_open(&key, 3, &second), SC_SEGMENT_OK);
    sc_segment_close(&second);
    sc_segment_unlink(&first);
    sc_segment_close(&first);
}

static void test_stale(void **state)
{
    (void)state;
    struct sc_key key = fresh_key();
    struct sc_segment segment, closed;
    assert_int_equal(sc_segment_open(&key, 2, &segment), SC_SEGMENT_OK);
    sc_segment_reclaim();
    assert_true(exists(&segment)); /* somebody uses it */
    closed = segment;
    sc_segment_close(&segment);
    assert_true(exists(&closed));
    sc_segment_reclaim();
    assert_false(exists(&closed));
}

/* Whoever locks or removes a file may be held up, in front of it and behind, while others go on. */
static void be_held_up(void)
{
    static _Thread_local unsigned random;
    static unsigned threads;
    if (!random) random = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED) * 2654435761u;
    random = random * 1664525u + 1013904223u;
    for (unsigned i = random >> 30 ? 0 : random >> 23; i > 0; i--) sched_yield();
}

int __real_flock(int file, int how);
int __wrap_flock(int file, int how);
int __real_shm_unlink(const char *name);
int __wrap_shm_unlink(const char *name);

int __wrap_flock(int file, int how)
{
    be_held_up();
    int result = __real_flock(file, how);
    int error = errno;
    be_held_up();
    errno = error;
    return result;
}

int __wrap_shm_unlink(const char *name)
{
    be_held_up();
    return __real_shm_unlink(name);
}

/* Ranks that come at the same time, as threads: a file's lock belongs to who opened it. */
enum { COMERS = 4, MEETINGS = 3000 };

struct meeting {
    pthread_barrier_t begin, end;
    struct sc_key key;
    struct sc_segment segments[COMERS];
    enum sc_segment_status status[COMERS];
};

struct comer {
    struct meeting *meeting;
    unsigned number;
};

static void *come(void *argument)
{
    struct comer *comer = argument;
    struct meeting *meeting = comer->meeting;
    for (int i = 0; i < MEETINGS; i++) {
        pthread_barrier_wait(&meeting->begin);
        sc_segment_reclaim();
        meeting->status[comer->number] =
            sc_segment_open(&meeting->key, COMERS, &meeting->segments[comer->number]);
        pthread_barrier_wait(&meeting->end);
    }
    return NULL;
}

/* Breaks if one of them gets memory of its own: it would wait for the others for ever. */
static void test_all_come_at_once(void **state)
{
    (void)state;
    struct meeting meeting;
    struct comer comers[COMERS];
    pthread_t threads[COMERS];
    pthread_barrier_init(&meeting.begin, NULL, COMERS + 1);
    pthread_barrier_init(&meeting.end, NULL, COMERS + 1);
    for (unsigned i = 0; i < COMERS; i++) {
        comers[i] = (struct comer){&meeting, i};
        assert_int_equal(pthread_create(&threads[i], NULL, come, &comers[i]), 0);
    }
    for (int i = 0; i < MEETINGS; i++) {
        struct stat first, other;
        meeting.key = fresh_key();
        pthread_barrier_wait(&meeting.begin);
        pthread_barrier_wait(&meeting.end);
        for (unsigned k = 0; k < COMERS; k++) {
            assert_int_equal(meeting.status[k], SC_SEGMENT_OK);
            assert_int_equal(fstat(meeting.segments[k].file, k ? &other : &first), 0);
            assert_int_equal(k ? other.st_ino : first.st_ino, first.st_ino);
        }
        assert_true(exists(&meeting.segments[0]));
        sc_segment_unlink(&meeting.segments[0]);
        for (unsigned k = 0; k < COMERS; k++) sc_segment_close(&meeting.segments[k]);
    }
    for (unsigned i = 0; i < COMERS; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&meeting.begin);
    pthread_barrier_destroy(&meeting.end);
}

/* Both ranks of a communicator, in this process. */
struct both {
    struct sc_rank *ranks[2];
};

static void attach(struct both *both)
{
    struct sc_key key = fresh_key();
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(sc_rank_attach(&key, 2, i, 0, &both->ranks[i]), ncclSuccess);
    assert_int_equal(sc_rank_completed(both->ranks[0]), ncclSuccess);
    assert_false(exists(&both->ranks[0]->segment));
    struct sc_rank *third;
    assert_int_equal(sc_rank_attach(&key, 3, 2, 0, &third),
                     ncclSuccess); /* another one, as the name was free */
    sc_rank_abort(third);
    sc_segment_reclaim();
}

static void detach(struct both *both)
{
    for (unsigned i = 0; i < 2; i++) sc_rank_destroy(both->ranks[i]);
}

static enum sc_drive_status receive(struct sc_rank *rank, char *to, uint64_t count)
{
    struct sc_drive drive;
    struct sc_work work = {.to = (uint64_t)to, .count = count, .kind = SC_WORK_RECEIVE, .type = ncclInt8};
    assert_true(sc_drive_init(&drive, rank, 1));
    sc_collective_add(&drive, &work);
    enum sc_drive_status status = sc_drive_step(&drive);
    sc_drive_free(&drive);
    return status;
}

/* Counts and pieces that rank 0 never wrote. Nothing is read into memory that is not asked for. */
static void test_garbage(void **state)
{
    (void)state;
    struct both both;
    attach(&both);
    struct sc_pair *pair = sc_segment_pair(&both.ranks[0]->segment, 0, 1);
    char to[100];
    memset(to, 7, sizeof to);
    assert_int_equal(receive(both.ranks[1], to, sizeof to), SC_DRIVE_WAITS);
    /* A piece that is right, but not its count. */
    struct sc_drive drive;
    struct sc_work work = {
        .from = (uint64_t)to, .count = sizeof to, .peer = 1, .kind = SC_WORK_SEND, .type = ncclInt8};
    assert_true(sc_drive_init(&drive, both.ranks[0], 1));
    sc_collective_add(&drive, &work);
    assert_int_equal(sc_drive_step(&drive), SC_DRIVE_DONE);
    sc_drive_free(&drive);
    static const uint64_t counts[] = {3, 4, UINT64_MAX, UINT64_MAX / 2, 1u << 31};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        pair->written = counts[i];
        assert_int_equal(receive(both.ranks[1], to, sizeof to), SC_DRIVE_BROKEN);
    }
    pair->written = 1;
    for (unsigned turn = 0; turn < 1000; turn++) {
        assert_int_equal(getrandom(pair->pieces, sizeof pair->pieces, 0), sizeof pair->pieces);
        if (turn & 1) pair->pieces[0].bytes = sizeof to;
        assert_int_equal(receive(both.ranks[1], to, sizeof to), SC_DRIVE_BROKEN);
    }
    for (size_t i = 0; i < sizeof to; i++) assert_int_equal(to[i], 7);
    detach(&both);
}

/* Ranks that call different functions, types or sizes. */
static void test_mismatch(void **state)
{
    (void)state;
    static const struct sc_work works[] = {
        {.count = 100, .kind = SC_WORK_ALL_REDUCE, .type = ncclFloat32},
        {.count = 100, .kind = SC_WORK_ALL_REDUCE, .type = ncclInt32},
        {.count = 100, .kind = SC_WORK_ALL_REDUCE, .type = ncclFloat32, .op = ncclMax},
        {.count = 101, .kind = SC_WORK_ALL_REDUCE, .type = ncclFloat32},
        {.count = 100, .kind = SC_WORK_REDUCE_SCATTER, .type = ncclFloat32},
        {.count = 100, .kind = SC_WORK_ALL_GATHER, .type = ncclFloat32},
    };
    enum { WORKS = sizeof works / sizeof *works };
    for (int i = 0; i < WORKS; i++)
        for (int k = 0; k < WORKS; k++) {
            struct both both;
            struct sc_drive drives[2];
            static float memory[2][2][400];
            attach(&both);
            for (int r = 0; r < 2; r++) {
                struct sc_work work = works[r ? k : i];
                work.from = (uint64_t)memory[r][0];
                work.to = (uint64_t)memory[r][1];
                assert_true(sc_drive_init(&drives[r], both.ranks[r], sc_collective_most(&work, 2)));
                sc_collective_add(&drives[r], &work);
            }
            enum sc_drive_status status[2] = {SC_DRIVE_MOVED, SC_DRIVE_MOVED};
            for (int turn = 0; turn < 20; turn++)
                for (int r = 0; r < 2; r++)
                    if (status[r] != SC_DRIVE_BROKEN && status[r] != SC_DRIVE_DONE)
                        status[r] = sc_drive_step(&drives[r]);
            for (int r = 0; r < 2; r++) {
                assert_int_equal(status[r], i == k ? SC_DRIVE_DONE : SC_DRIVE_BROKEN);
                sc_drive_free(&drives[r]);
            }
            detach(&both);
        }
}

/* Each rank reduces a part of 50 numbers, of which 32 are moved. */
static void test_first_bytes(void **state)
{
    (void)state;
    struct both both;
    struct sc_drive drives[2];
    float memory[2][2][100];
    attach(&both);
    for (int r = 0; r < 2; r++) {
        struct sc_work work = {.from = (uint64_t)memory[r][0],
                               .to = (uint64_t)memory[r][1],
                               .count = 100,
                               .kind = SC_WORK_ALL_REDUCE,
                               .type = ncclFloat32};
        for (int i = 0; i < 100; i++) memory[r][0][i] = 1, memory[r][1][i] = 0;
        assert_true(sc_drive_init(&drives[r], both.ranks[r], sc_collective_most(&work, 2)));
        drives[r].message_bytes_most = 128;
        sc_collective_add(&drives[r], &work);
    }
    enum sc_drive_status status[2] = {SC_DRIVE_MOVED, SC_DRIVE_MOVED};
    for (int turn = 0; turn < 20; turn++)
        for (int r = 0; r < 2; r++)
            if (status[r] != SC_DRIVE_DONE) status[r] = sc_drive_step(&drives[r]);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(status[r], SC_DRIVE_DONE);
        for (int i = 0; i < 100; i++) assert_true(memory[r][1][i] == (i % 50 < 32 ? 2 : 0));
        sc_drive_free(&drives[r]);
    }
    detach(&both);
}

static void test_liveness(void **state)
{
    (void)state;
    struct sc_watched watched;
    int ready[2];
    uint64_t owner;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (!child) {
        owner = sc_liveness_self();
        if (write(ready[1], &owner, sizeof owner) == sizeof owner) pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &owner, sizeof owner), sizeof owner);
    sc_liveness_watch(owner, &watched);
    assert_false(sc_liveness_is_dead(&watched));
    struct sc_watched by_stat = {owner, -1}, later;
    assert_false(sc_liveness_is_dead(&by_stat));
    sc_liveness_watch(owner + 1, &later); /* started at another time: the number was used again */
    assert_true(sc_liveness_is_dead(&later));
    assert_int_equal(kill(child, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_true(sc_liveness_is_dead(&watched)); /* though its parent has not asked for it */
    assert_true(sc_liveness_is_dead(&by_stat));
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(sc_liveness_is_dead(&watched));
    assert_true(sc_liveness_is_dead(&by_stat));
    sc_liveness_forget(&watched);
    sc_liveness_watch(sc_liveness_self(), &watched);
    assert_false(sc_liveness_is_dead(&watched));
    close(ready[0]);
    close(ready[1]);
}

static void test_series(void **state)
{
    (void)state;
    static struct sc_series series;
    uint64_t ready = 5, busy = 0;
    assert_false(sc_series_read(&series, 0, 1, &ready, &busy));
    sc_series_post(&series, &(struct sc_time){0, 3, 100, 10});
    assert_true(sc_series_read(&series, 0, 1, &ready, &busy));
    assert_int_equal(ready, 100);
    assert_int_equal(busy, 10);
    ready = 500;
    assert_true(sc_series_read(&series, 2, 3, &ready, &busy));
    assert_int_equal(ready, 500);
    assert_false(sc_series_read(&series, 2, 4, &ready, &busy));
    sc_series_post(&series, &(struct sc_time){3, 4, 900, 7});
    ready = busy = 0;
    assert_true(sc_series_read(&series, 2, 4, &ready, &busy)); /* a launch that meets two */
    assert_int_equal(ready, 900);
    assert_int_equal(busy, 10);
    ready = 0;
    assert_true(sc_series_read(&series, 0, 3, &ready, &busy));
    assert_int_equal(ready, 100);
    for (uint64_t i = 4; i < 40; i++) {
        sc_series_post(&series, &(struct sc_time){i, i + 1, 1000 + i, 1});
        ready = 0;
        assert_true(sc_series_read(&series, i - 1, i + 1, &ready, &busy));
        assert_int_equal(ready, 1000 + i);
        assert_false(sc_series_read(&series, i, i + 2, &ready, &busy));
    }
}

static void test_link(void **state)
{
    (void)state;
    struct sc_link link = {10, 1000}; /* bytes in a ns; ns */
    struct sc_work all_reduce = {.count = 30000, .kind = SC_WORK_ALL_REDUCE, .type = ncclFloat32};
    struct sc_work gather = {.count = 30000, .kind = SC_WORK_ALL_GATHER, .type = ncclFloat32};
    struct sc_work messages[] = {
        {.count = 50000, .peer = 1, .kind = SC_WORK_SEND, .type = ncclInt8},
        {.count = 50000, .peer = 2, .kind = SC_WORK_SEND, .type = ncclInt8},
        {.count = 70000, .peer = 1, .kind = SC_WORK_RECEIVE, .type = ncclInt8},
        {.count = 70000, .peer = 0, .kind = SC_WORK_SEND, .type = ncclInt8}, /* to itself */
    };
    assert_int_equal(sc_link_ns(&link, &all_reduce, 1, 0, 3), 4 * 120000 / 3 / 10 + 4 * 1000);
    assert_int_equal(sc_link_ns(&link, &all_reduce, 1, 0, 1), 0);
    assert_int_equal(sc_link_ns(&link, &gather, 1, 0, 3), 2 * 120000 / 10 + 2 * 1000);
    assert_int_equal(sc_link_ns(&link, messages, 4, 0, 3), 100000 / 10 + 1000);
    assert_int_equal(sc_link_ns(&link, messages + 2, 2, 0, 3), 70000 / 10 + 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_stale),
        cmocka_unit_test(test_all_come_at_once),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_first_bytes),
        cmocka_unit_test(test_liveness),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
