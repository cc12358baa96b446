/* A launch as the driver runs it, both ranks in this process and without a driver. Breaks if a launch says
 * that it accesses other bytes than its functions do, if one waits whose communicator was aborted, or runs
 * whose communicator is gone, if ranks that meet get different times, or times before all have told theirs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "nccl/describe.h"
#include "nccl/element.h"
#include "nccl/gate.h"
#include "nccl/launch.h"
#include "nccl/rank.h"

double sc_gate_peer_bytes_per_ns(void)
{
    return 1;
}

uint64_t sc_gate_peer_latency_ns(void)
{
    return 100;
}

#define FROM 0x10000
#define TO 0x20000
#define FACTOR 0x30000

/* Bytes that a launch says it reads and writes from each of the addresses. */
struct described {
    struct sc_native_launch launch;
    uint64_t read[2], written[2], factor;
};

static bool note(struct sc_native_launch *launch, const struct sc_native_access *access)
{
    struct described *described = (struct described *)launch;
    assert_int_equal(access->rows, 1);
    assert_int_equal(access->pitch, access->width);
    if (!access->width) return true;
    assert_true(access->reads != access->writes);
    if (access->address == FACTOR)
        described->factor += access->width;
    else
        (access->reads ? described->read : described->written)[access->address == TO] += access->width;
    assert_true(access->address == FROM || access->address == TO || access->address == FACTOR);
    return true;
}

struct both {
    struct sc_rank *ranks[2];
    struct sc_parameters parameters[2];
};

static void attach(struct both *both, const struct sc_work *work)
{
    struct sc_key key;
    memset(both, 0, sizeof *both);
    assert_int_equal(getrandom(&key, sizeof key, 0), sizeof key);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(sc_rank_attach(&key, 2, i, 0, &both->ranks[i]), ncclSuccess);
        both->parameters[i] = (struct sc_parameters){both->ranks[i]->number, 0, i, 2, 1, 0, {*work}, {0}};
    }
    for (unsigned i = 0; i < 2; i++) assert_int_equal(sc_rank_completed(both->ranks[i]), ncclSuccess);
}

static void test_describe(void **state)
{
    (void)state;
    /* Blocks of 10 elements that rank 0, the root, and rank 1 read of FROM and write of TO. */
    static const struct {
        uint8_t kind, read[2], written[2];
    } cases[] = {
        {SC_WORK_BROADCAST, {1, 0}, {1, 1}},      {SC_WORK_REDUCE, {1, 1}, {1, 0}},
        {SC_WORK_ALL_REDUCE, {1, 1}, {1, 1}},     {SC_WORK_ALL_GATHER, {1, 1}, {2, 2}},
        {SC_WORK_REDUCE_SCATTER, {2, 2}, {1, 1}}, {SC_WORK_ALL_TO_ALL, {2, 2}, {2, 2}},
        {SC_WORK_GATHER, {1, 1}, {2, 0}},         {SC_WORK_SCATTER, {2, 0}, {1, 1}},
        {SC_WORK_SEND, {1, 1}, {0, 0}},           {SC_WORK_RECEIVE, {0, 0}, {1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc_work work = {
            .from = FROM, .to = TO, .count = 10, .kind = cases[i].kind, .type = ncclFloat64};
        struct both both;
        attach(&both, &work);
        for (int r = 0; r < 2; r++) {
            struct described described = {.launch = {.parameters = &both.parameters[r], .touch = note}};
            assert_true(sc_describe(&described.launch));
            assert_int_equal(described.read[0], cases[i].read[r] * 80);
            assert_int_equal(described.written[1], cases[i].written[r] * 80);
            assert_int_equal(described.read[1] + described.written[0], 0);
            assert_int_equal(described.factor, 0);
        }
        for (int r = 0; r < 2; r++) sc_rank_destroy(both.ranks[r]);
    }
    struct both both;
    struct sc_work work = {.from = TO,
                           .to = TO,
                           .count = 3,
                           .factor = FACTOR,
                           .kind = SC_WORK_ALL_REDUCE,
                           .type = ncclFloat16,
                           .op = SC_OP_FACTOR,
                           .factor_is_address = true};
    attach(&both, &work);
    struct described described = {.launch = {.parameters = &both.parameters[1], .touch = note}};
    assert_true(sc_describe(&described.launch));
    assert_int_equal(described.factor, 2);
    assert_int_equal(described.read[1], 6);
    assert_int_equal(described.written[1], 6);
    sc_rank_abort(both.ranks[0]);
    sc_rank_destroy(both.ranks[1]);
}

static void test_meet(void **state)
{
    (void)state;
    const struct sc_native_peers *peers = &sc_launch_peers;
    struct sc_work work = {.count = 1000, .kind = SC_WORK_BROADCAST, .type = ncclInt8};
    struct both both;
    void *tokens[2];
    uint64_t start[2] = {0}, end[2] = {0};
    attach(&both, &work);
    for (int turn = 0; turn < 30; turn++) {
        uint64_t base = (uint64_t)turn * 100000;
        for (int r = 0; r < 2; r++) assert_non_null(tokens[r] = peers->begin(&both.parameters[r]));
        peers->arrive(tokens[0], base + 500, 5000);
        assert_int_equal(peers->meet(tokens[0], 0, &start[0], &end[0]), SC_MEETING_HERE);
        /* As if the other were of another process. */
        uint64_t *owner = &sc_segment_row(&both.ranks[0]->segment, 1)->owner;
        *owner += 1;
        assert_int_equal(peers->meet(tokens[0], 1, &start[0], &end[0]), SC_MEETING_ELSEWHERE);
        *owner -= 1;
        peers->arrive(tokens[1], base + 700, turn & 1 ? 6000 : 10);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(peers->meet(tokens[r], 0, &start[r], &end[r]), SC_MET);
            assert_int_equal(start[r], base + 700);
            assert_int_equal(end[r], base + 700 + (turn & 1 ? 6000 : 5000));
            assert_int_equal(peers->meet(tokens[r], 5, &start[r], &end[r]), SC_MET);
        }
        for (int r = 0; r < 2; r++) peers->end(tokens[r]);
    }
    /* With nothing else to do a launch takes what the link does; a peer that left tells nothing any more. */
    assert_non_null(tokens[0] = peers->begin(&both.parameters[0]));
    peers->arrive(tokens[0], 9000000, 0);
    assert_int_equal(peers->meet(tokens[0], 0, &start[0], &end[0]), SC_MEETING_HERE);
    sc_rank_destroy(both.ranks[1]);
    assert_int_equal(peers->meet(tokens[0], 0, &start[0], &end[0]), SC_MET);
    assert_int_equal(start[0], 9000000);
    assert_int_equal(end[0], 9000000 + 1000 + 100);
    peers->end(tokens[0]);
    sc_rank_destroy(both.ranks[0]);
}

static void test_gone(void **state)
{
    (void)state;
    const struct sc_native_peers *peers = &sc_launch_peers;
    struct sc_work work = {
        .from = FROM, .to = TO, .count = 1, .kind = SC_WORK_RECEIVE, .type = ncclInt8, .peer = 1};
    struct sc_native_launch launch = {.touch = note};
    struct both both;
    uint64_t start, end;
    attach(&both, &work);
    void *early = peers->begin(&both.parameters[0]);
    assert_non_null(early);
    sc_rank_abort(both.ranks[0]); /* it can be launched still, and does nothing */
    sc_rank_destroy(both.ranks[1]);
    void *late = peers->begin(&both.parameters[0]), *never = peers->begin(&both.parameters[1]);
    assert_non_null(late);
    assert_non_null(never);
    launch.parameters = &both.parameters[0];
    assert_true(sc_describe(&launch));
    assert_true(peers->run(&launch, early));
    assert_true(peers->run(&launch, late));
    launch.parameters = &both.parameters[1];
    assert_true(sc_describe(&launch));
    assert_false(peers->run(&launch, never));
    void *tokens[] = {early, late, never};
    for (int i = 0; i < 3; i++) {
        peers->arrive(tokens[i], 77, 3);
        assert_int_equal(peers->meet(tokens[i], 0, &start, &end), SC_MET);
        assert_int_equal(start, 77);
        assert_int_equal(end, 80);
        peers->end(tokens[i]);
    }
}

/* Works that do not fit into the parameters: kept for one launch, or for as long as the communicator. */
static void test_records(void **state)
{
    (void)state;
    const struct sc_native_peers *peers = &sc_launch_peers;
    static char memory[2];
    struct sc_work work = {
        .from = (uint64_t)memory, .to = (uint64_t)(memory + 1), .count = 1, .kind = SC_WORK_ALL_TO_ALL};
    struct sc_work nothing = {0};
    for (int kept = 0; kept < 2; kept++) {
        struct both both;
        struct sc_native_launch launch = {.touch = note};
        attach(&both, &nothing);
        work.kind = SC_WORK_SEND; /* to itself, which needs nobody */
        struct sc_work works[2] = {work, work};
        works[1].kind = SC_WORK_RECEIVE;
        memory[0] = 5;
        both.parameters[0].record = sc_rank_keep_record(both.ranks[0], works, 2, kept);
        both.parameters[0].count = 2;
        launch.parameters = &both.parameters[0];
        for (int turn = 0; turn < 3; turn++) {
            memory[1] = 0;
            void *token = peers->begin(&both.parameters[0]);
            assert_int_equal(peers->run(&launch, token), kept || turn == 0);
            assert_int_equal(memory[1], kept || turn == 0 ? 5 : 0);
            peers->end(token);
        }
        for (int r = 0; r < 2; r++) sc_rank_destroy(both.ranks[r]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_describe), cmocka_unit_test(test_meet),
                                       cmocka_unit_test(test_gone), cmocka_unit_test(test_records)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
