/* Room on the device, which movers make in any order: breaks if a fetch begins before as many bytes have left
 * as it needs, if it waits for more, or for ever for what nobody will carry out. */
#include "link_scene.h"

static const uint64_t sizes[MOVEMENTS + 1] = {0, 3, 1, 4, 2}; /* bytes of the movers' ones */

/* Movers have `order`, of which the first `landed` have landed. */
static struct room_case {
    uint32_t movers; /* bit i - 1: movement i is a mover's */
    uint32_t order[MOVEMENTS], count, landed;
} room;

static uint64_t bytes_of_movers_by(uint32_t which)
{
    uint64_t bytes = 0;
    for (uint32_t i = 1; i <= which; i++)
        if (room.movers >> (i - 1) & 1) bytes += sizes[i];
    return bytes;
}

static void begin_room(void)
{
    stop(NULL);
    assert_int_equal(start(NULL), 0);
    for (uint32_t i = 1; i <= MOVEMENTS; i++) {
        if (room.movers >> (i - 1) & 1)
            claim_bytes(sizes[i]);
        else
            enqueue();
    }
    for (uint32_t i = 0; i < room.landed; i++) land(room.order[i]);
}

/* The host waits for the first ones that left so many bytes, and for the last one enqueued. */
static void check_room(uint32_t which)
{
    uint64_t wanted = bytes_of_movers_by(which), left = 0;
    uint32_t last = 0, waits = 0;
    begin_room();
    for (uint32_t i = 0; i < room.landed; i++) left += sizes[room.order[i]];
    assert_int_equal(has_room(which), left >= wanted);
    if (left < wanted) return;
    for (uint32_t i = 1; i <= which; i++)
        if (!(room.movers >> (i - 1) & 1)) last = i;
    for (int again = 0; again < 2; again++) { /* landings once for each thread */
        assert_int_equal(wait_for_room(which), SL_OK);
        left = waits = 0;
        for (uint32_t i = 0; i < room.landed; i++) {
            bool needed = left < wanted;
            left += sizes[room.order[i]];
            assert_int_equal(host_waits_for(mark_of(room.order[i])), needed);
            waits += needed;
        }
        if (last) assert_int_equal(host_waits_for(event_of(last)), 1 + again);
        assert_int_equal(device.wait_count, waits + (last ? 1 + again : 0));
    }
}

/* All orders in which movers' ones land. */
static void land_in_all_orders(void)
{
    for (uint32_t which = 0; which <= MOVEMENTS; which++) check_room(which);
    for (uint32_t i = 1; i <= MOVEMENTS; i++) {
        bool landed = !(room.movers >> (i - 1) & 1);
        for (uint32_t l = 0; l < room.landed; l++) landed |= room.order[l] == i;
        if (landed) continue;
        room.order[room.landed++] = i;
        land_in_all_orders();
        room.landed--;
    }
}

static void room_is_there_when_as_many_bytes_have_landed(void **state)
{
    (void)state;
    for (room.movers = 0; room.movers < 1u << MOVEMENTS; room.movers++) land_in_all_orders();
}

/* The clocks of simulated threads go along with what made the later room, too, and no further. */
static void more_room_is_behind_more_landings(void **state)
{
    (void)state;
    for (uint64_t s = 1; s <= 4; s++) claim();
    for (uint64_t s = 4; s >= 1; s--) land(s);
    for (uint64_t s = 1; s <= 4; s++) {
        assert_int_equal(wait_for_room(s), SL_OK);
        assert_int_equal(device.wait_count, s);
        assert_int_equal(host_waits_for(mark_of(5 - s)), 1);
    }
    assert_int_equal(wait_for_room(1), SL_OK);
    assert_int_equal(device.wait_count, 4);
}

/* A mover records its events anew, so those of long ago say nothing. */
static void old_landings_are_not_followed(void **state)
{
    (void)state;
    enum { MANY = 2 * SL_MOVER_EVENTS_KEPT + 5 };
    for (int i = 0; i < MANY; i++) land(claim());
    assert_int_equal(wait_for_room(MANY - SL_MOVER_EVENTS_KEPT), SL_OK);
    assert_int_equal(device.wait_count, 0);
    assert_int_equal(wait_for_room(MANY - SL_MOVER_EVENTS_KEPT + 2), SL_OK);
    assert_int_equal(device.wait_count, 2);
    assert_int_equal(wait_for_room(MANY), SL_OK);
    assert_int_equal(device.wait_count, SL_MOVER_EVENTS_KEPT);
}

/* Frees enqueue as many discards as they like. */
static void a_landing_is_followed_however_many_are_decided_behind_it(void **state)
{
    (void)state;
    uint64_t moved = claim();
    for (int i = 0; i < 2 * SL_MOVER_EVENTS_KEPT; i++) enqueue();
    land(moved);
    assert_int_equal(wait_for_room(moved), SL_OK);
    assert_int_equal(host_waits_for(mark_of(moved)), 1);
}

/* Whichever leave it; those that leave less have news for it, and no more. */
static void who_waits_for_room_sleeps_until_it_is_there(void **state)
{
    (void)state;
    for (uint64_t s = 1; s <= 4; s++) claim();
    struct waiter waiters[] = {{.sequence = 2, .for_room = true}, {.sequence = 2, .for_room = true}};
    begin_wait(&waiters[0]);
    begin_wait(&waiters[1]);
    await_sleepers(2);
    land(4);
    await_sleepers(4);
    for (int w = 0; w < 2; w++) assert_false(atomic_load(&waiters[w].back));
    assert_int_equal(device.wait_count, 0);
    land(2);
    for (int w = 0; w < 2; w++) assert_int_equal(end_wait(&waiters[w]), SL_OK);
    assert_int_equal(host_waits_for(mark_of(4)), 2); /* each thread has a clock */
    assert_int_equal(host_waits_for(mark_of(2)), 2);
    assert_int_equal(device.wait_count, 4);
    assert_int_equal(atomic_load(&direction.waiters), 0);
    assert_int_equal(atomic_load(&direction.issued), 0);
}

static void room_that_comes_before_one_sleeps_is_not_missed(void **state)
{
    (void)state;
    sl_test_delay_hook = land_meanwhile;
    for (meanwhile = SL_DELAY_LANDING; meanwhile <= SL_DELAY_SLEEP; meanwhile++)
        assert_int_equal(wait_for_room(claim()), SL_OK);
}

/* What is enqueued leaves nothing before the device has come to it. */
static void room_behind_what_is_enqueued_is_waited_for_on_the_host(void **state)
{
    (void)state;
    enqueue();
    uint64_t moved = claim();
    uint64_t last = enqueue();
    land(moved);
    device.refuses_waits = device.says_nothing = device.refuses_finishing = true;
    assert_int_equal(wait_for_room(last), SL_ERR_DRIVER);
    device.refuses_waits = device.says_nothing = device.refuses_finishing = false;
    device.wait_count = 0;
    assert_int_equal(wait_for_room(moved), SL_OK);
    assert_int_equal(host_waits_for(event_of(1)), 1);
    assert_int_equal(host_waits_for(event_of(last)), 0);
    assert_int_equal(wait_for_room(last), SL_OK);
    assert_int_equal(host_waits_for(event_of(last)), 1);
    sl_link_direction_set_done(&direction, last);
    device.wait_count = 0;
    assert_int_equal(wait_for_room(last), SL_OK);
    assert_int_equal(host_waits_for(event_of(last)), 1); /* a simulated clock goes along */
}

/* Room that is there stays so. */
static void an_end_wakes_those_who_wait_for_room(void **state)
{
    (void)state;
    struct waiter waiter = {.sequence = 2, .for_room = true};
    claim();
    claim();
    land(2);
    begin_wait(&waiter);
    await_sleepers(1);
    sl_link_direction_end(&direction);
    assert_int_equal(end_wait(&waiter), SL_ERR_DRIVER);
    assert_int_equal(device.wait_count, 0);
    assert_int_equal(wait_for_room(1), SL_OK);
    assert_int_equal(wait_for_room(0), SL_OK);
}

/* The first one lands when so many others were decided that its neighbour's place is another's. */
static void the_oldest_one_kept_leaves_its_own_bytes(void **state)
{
    (void)state;
    for (uint64_t s = 1; s <= SL_MOVEMENTS_KEPT; s++) claim_bytes(s <= 2 ? 5 : 7);
    assert_false(has_room(1));
    land(1);
    assert_true(has_room(1));
    assert_false(has_room(2));
    land(3);
    assert_true(has_room(2));
    assert_false(has_room(SL_MOVEMENTS_KEPT));
    land(2);
    for (uint64_t s = 4; s <= SL_MOVEMENTS_KEPT; s++) {
        assert_false(has_room(s));
        land(s);
        assert_true(has_room(s));
    }
}

/* What is asked of a forgotten one is answered by the oldest that is not. */
static void a_forgotten_one_has_left_its_room(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) land(claim());
    for (int i = 0; i < 10; i++) enqueue();
    for (int i = 1; i < SL_MOVEMENTS_KEPT; i++) land(claim());
    uint64_t next = claim();
    for (uint64_t s = 0; s < next; s++) assert_true(has_room(s));
    assert_false(has_room(next));
    sl_link_direction_end(&direction);
    struct noted_event *oldest = event_of(16); /* enqueued before it */
    assert_int_equal(wait_for_room(3), SL_OK);
    assert_int_equal(host_waits_for(oldest), 1);
    assert_int_equal(device.wait_count, 1); /* and for no landing of today's */
    assert_int_equal(wait_for_room(next), SL_ERR_DRIVER);
}

/* Steps of a plan would wait for it for ever. */
static void one_that_never_lands_is_missed_no_longer_than_it_is_kept(void **state)
{
    (void)state;
    claim();
    sl_link_direction_end(&direction);
    for (int i = 0; i < SL_MOVEMENTS_KEPT; i++) enqueue();
    assert_true(sl_link_direction_has_landed(&direction, 1 + SL_MOVEMENTS_KEPT));
    assert_true(has_room(1 + SL_MOVEMENTS_KEPT));
    assert_int_equal(wait_for_room(1 + SL_MOVEMENTS_KEPT), SL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(room_is_there_when_as_many_bytes_have_landed, start, stop),
        cmocka_unit_test_setup_teardown(more_room_is_behind_more_landings, start, stop),
        cmocka_unit_test_setup_teardown(old_landings_are_not_followed, start, stop),
        cmocka_unit_test_setup_teardown(a_landing_is_followed_however_many_are_decided_behind_it, start,
                                        stop),
        cmocka_unit_test_setup_teardown(who_waits_for_room_sleeps_until_it_is_there, start, stop),
        cmocka_unit_test_setup_teardown(room_that_comes_before_one_sleeps_is_not_missed, start, stop),
        cmocka_unit_test_setup_teardown(room_behind_what_is_enqueued_is_waited_for_on_the_host, start, stop),
        cmocka_unit_test_setup_teardown(an_end_wakes_those_who_wait_for_room, start, stop),
        cmocka_unit_test_setup_teardown(the_oldest_one_kept_leaves_its_own_bytes, start, stop),
        cmocka_unit_test_setup_teardown(a_forgotten_one_has_left_its_room, start, stop),
        cmocka_unit_test_setup_teardown(one_that_never_lands_is_missed_no_longer_than_it_is_kept, start,
                                        stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
