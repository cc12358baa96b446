/* Which launches of several ranks meet because they exchange messages. */
#include "tools/analyses/exchanges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
    RANKS = 4,
    LAUNCHES = 128,
    MESSAGES = 256,
    GROUP = 0,
    REDUCE = 1,
    SEND = 10,
    RECEIVE = 11,
    BYTES = 4096
};

static struct model models[RANKS];
static struct model_collective collectives[RANKS][LAUNCHES];
static struct model_message messages[RANKS][MESSAGES];
static struct meetings found;
static uint64_t communicator;

static int reset(void **state)
{
    (void)state;
    communicator = 7;
    for (size_t r = 0; r < RANKS; r++)
        models[r] = (struct model){.collectives = {collectives[r], 0, LAUNCHES},
                                   .messages = {messages[r], 0, MESSAGES}};
    return 0;
}

static int drop(void **state)
{
    (void)state;
    meetings_free(&found);
    return 0;
}

static void launch(size_t rank, uint32_t function)
{
    struct model *model = &models[rank];
    model->collectives.at[model->collectives.count++] = (struct model_collective){
        .tick = model->collectives.count, .communicator = communicator, .function = function};
}

/* Of the rank's last launch. */
static void message(size_t rank, size_t peer, bool receives, uint64_t bytes)
{
    struct model *model = &models[rank];
    model->messages.at[model->messages.count++] = (struct model_message){.tick = model->collectives.count,
                                                                         .bytes = bytes,
                                                                         .communicator = communicator,
                                                                         .own = rank,
                                                                         .peer = peer,
                                                                         .receives = receives};
}

static void send(size_t rank, size_t peer)
{
    launch(rank, SEND);
    message(rank, peer, false, BYTES);
}

static void receive(size_t rank, size_t peer)
{
    launch(rank, RECEIVE);
    message(rank, peer, true, BYTES);
}

/* A group that sends to one rank and receives from another. */
static void group(size_t rank, size_t to, size_t from)
{
    launch(rank, GROUP);
    message(rank, to, false, BYTES);
    message(rank, from, true, BYTES);
}

static void find(void)
{
    const struct model *all[RANKS];
    for (size_t r = 0; r < RANKS; r++) all[r] = &models[r];
    assert_true(meetings_find(all, RANKS, true, &found));
}

/* The meeting of the rank's launch. */
static size_t meeting_of(size_t rank, uint32_t launch)
{
    const struct meeting_rank *its = &found.ranks[rank];
    for (size_t e = 0; e < its->count; e++)
        if (its->entries[e].collective == launch) return its->entries[e].meeting;
    return MEETING_NONE;
}

#define assert_meet(a, launch_a, b, launch_b)                                                                \
    do {                                                                                                     \
        assert_true(meeting_of(a, launch_a) != MEETING_NONE);                                                \
        assert_int_equal(meeting_of(a, launch_a), meeting_of(b, launch_b));                                  \
    } while (0)
#define assert_alone(rank, launch) assert_true(meeting_of(rank, launch) == MEETING_NONE)

static void the_nth_send_meets_the_nth_receive_from_there(void **state)
{
    (void)state;
    send(0, 1), send(0, 2), send(0, 1), receive(0, 2);
    receive(1, 0), receive(1, 0);
    receive(2, 0), send(2, 0);
    find();
    assert_meet(0, 0, 1, 0);
    assert_meet(0, 1, 2, 0);
    assert_meet(0, 2, 1, 1);
    assert_meet(0, 3, 2, 1);
    assert_int_equal(found.shared, 4);
    assert_int_equal(found.at[meeting_of(0, 0)].count, 2);
}

static void communicators_number_their_own_messages(void **state)
{
    (void)state;
    send(0, 1), receive(1, 0);
    communicator = 9;
    send(0, 1);
    communicator = 5;
    send(0, 1), receive(1, 0);
    communicator = 9;
    receive(1, 0);
    find();
    assert_meet(0, 0, 1, 0);
    assert_meet(0, 1, 1, 2);
    assert_meet(0, 2, 1, 1);
}

/* Also where ranks of a later one have nothing to do in an earlier one. */
static void meetings_are_in_the_order_of_communicators(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) send(0, 1), receive(1, 0);
    communicator = 9;
    send(2, 3), receive(3, 2);
    find();
    assert_int_equal(meeting_of(2, 0), 3);
    assert_meet(2, 0, 3, 0);
}

static void collectives_are_counted_without_them(void **state)
{
    (void)state;
    for (size_t r = 0; r < RANKS; r++) launch(r, REDUCE);
    send(0, 1), receive(1, 0);
    for (size_t r = 0; r < RANKS; r++) launch(r, REDUCE);
    find();
    assert_meet(0, 0, 1, 0);
    assert_meet(0, 1, 1, 1);
    assert_meet(0, 2, 2, 1);
    assert_meet(1, 2, 2, 1);
    assert_int_equal(found.unlike, 0);
}

/* A missing record shifts all later ones. */
static void what_differs_in_size_is_another_message(void **state)
{
    (void)state;
    send(0, 1), send(0, 1), send(0, 1);
    receive(1, 0), receive(1, 0), receive(1, 0);
    messages[1][1].bytes = 2 * BYTES;
    find();
    assert_meet(0, 0, 1, 0);
    for (uint32_t i = 1; i < 3; i++) {
        assert_alone(0, i);
        assert_alone(1, i);
    }
}

static void groups_that_exchange_meet(void **state)
{
    (void)state;
    group(0, 1, 1), group(1, 0, 0);
    group(1, 2, 2), group(2, 1, 1);
    find();
    assert_meet(0, 0, 1, 0);
    assert_meet(1, 1, 2, 0);
    assert_true(meeting_of(0, 0) < meeting_of(1, 1));
}

static void a_ring_is_one_meeting(void **state)
{
    (void)state;
    for (size_t r = 0; r < RANKS; r++) group(r, (r + 1) % RANKS, (r + RANKS - 1) % RANKS);
    find();
    assert_meet(0, 0, 1, 0);
    assert_meet(0, 0, 2, 0);
    assert_int_equal(found.at[meeting_of(0, 0)].count, RANKS);
    assert_int_equal(found.count, 1);
}

/* Two sends, one after the other, that the other rank receives in one group. */
static void a_rank_is_not_there_twice(void **state)
{
    (void)state;
    send(0, 1), send(0, 1), receive(0, 1);
    launch(1, GROUP);
    message(1, 0, true, BYTES);
    message(1, 0, true, BYTES);
    send(1, 0);
    find();
    assert_alone(0, 0);
    assert_alone(0, 1);
    assert_alone(1, 0);
    assert_meet(0, 2, 1, 1);
}

/* Rank 0 waits for rank 1 alone, and sends to rank 2 only then; as one meeting of all, it would never end. */
static void chains_that_would_wait_for_themselves_are_none(void **state)
{
    (void)state;
    send(0, 1), send(0, 2);
    group(1, 2, 0);
    receive(2, 0), receive(2, 1);
    find();
    assert_alone(1, 0);
    assert_meet(0, 1, 2, 0);
}

static void a_rank_alone_has_no_meeting(void **state)
{
    (void)state;
    group(0, 0, 0); /* to itself */
    send(1, 2);     /* never received */
    find();
    assert_alone(0, 0);
    assert_alone(1, 0);
    assert_int_equal(found.shared, 0);
}

static uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525 + 1013904223;
    return (*random >> 8) % below;
}

/* Every message of a program that ends is matched, and each rank meets in the order of its launches. */
static void what_a_program_sends_meets(void **state)
{
    (void)state;
    enum { SENT = 60 };
    for (uint32_t seed = 1; seed <= 200; seed++) {
        uint32_t random = seed;
        reset(NULL);
        for (int i = 0; i < SENT; i++) {
            uint32_t from = draw(&random, RANKS), to = (from + 1 + draw(&random, RANKS - 1)) % RANKS;
            send(from, to), receive(to, from);
        }
        find();
        assert_int_equal(found.shared, SENT);
        for (size_t r = 0; r < RANKS; r++)
            for (size_t e = 1; e < found.ranks[r].count; e++)
                assert_true(found.ranks[r].entries[e - 1].meeting < found.ranks[r].entries[e].meeting);
        meetings_free(&found);
    }
}

/* Files may hold anything: no meeting has a rank twice, and none is found twice. */
static void whatever_a_file_says(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 300; seed++) {
        uint32_t random = seed;
        reset(NULL);
        for (int i = 0; i < 80; i++) {
            uint32_t rank = draw(&random, RANKS);
            communicator = 7 + draw(&random, 2);
            if (models[rank].collectives.count == LAUNCHES) continue;
            launch(rank, GROUP);
            for (uint32_t m = draw(&random, 3); m > 0; m--) {
                if (draw(&random, 8) == 0) communicator = 7 + draw(&random, 3);
                message(draw(&random, 20) ? rank : 0, draw(&random, RANKS + 1), draw(&random, 2),
                        BYTES << draw(&random, 2));
            }
        }
        find();
        size_t members = 0;
        for (size_t i = 0; i < found.count; i++) {
            const struct meeting_member *member = &found.members[found.at[i].first];
            for (uint32_t k = 1; k < found.at[i].count; k++) assert_true(member[k - 1].rank < member[k].rank);
            members += found.at[i].count;
        }
        assert_int_equal(members, found.member_count);
        meetings_free(&found);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, drop)
    const struct CMUnitTest tests[] = {
        TEST(the_nth_send_meets_the_nth_receive_from_there),
        TEST(communicators_number_their_own_messages),
        TEST(meetings_are_in_the_order_of_communicators),
        TEST(collectives_are_counted_without_them),
        TEST(what_differs_in_size_is_another_message),
        TEST(groups_that_exchange_meet),
        TEST(a_ring_is_one_meeting),
        TEST(a_rank_is_not_there_twice),
        TEST(chains_that_would_wait_for_themselves_are_none),
        TEST(a_rank_alone_has_no_meeting),
        TEST(what_a_program_sends_meets),
        TEST(whatever_a_file_says),
    };
    return cmocka_run_group_tests_name("exchanges", tests, NULL, NULL);
}
