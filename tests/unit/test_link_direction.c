/* What is known of movements of which threads carry some out side by side: breaks if one is taken for over
 * while an earlier one is not, if whoever waits for one goes on too early, or waits for ever for what nobody
 * will carry out, or if what is learned of the newest ones is taken for true of forgotten ones. */
#include "link_scene.h"

/* --- In which order they end. */

static void what_is_enqueued_lands_at_once(void **state)
{
    (void)state;
    for (uint64_t s = 1; s <= 10; s++) {
        assert_int_equal(enqueue(), s);
        assert_int_equal(atomic_load(&direction.given), s);
        assert_int_equal(atomic_load(&direction.issued), s);
        assert_ptr_equal(event_of(s)->stream, &device.out);
        assert_true(sl_link_direction_has_event(&direction, s));
        assert_false(known_done(s));
    }
}

static void what_was_not_carried_out_is_not_over(void **state)
{
    (void)state;
    assert_true(ask_done(0));
    assert_false(ask_done(1));
    assert_int_equal(claim(), 1);
    assert_int_equal(atomic_load(&direction.given), 1);
    assert_int_equal(atomic_load(&direction.issued), 0);
    assert_false(ask_done(1));
    land(1);
    assert_true(known_done(1));
    assert_false(ask_done(2));
    assert_int_equal(device.questions, 0); /* what a mover has carried out is over */
}

/* What a test does to four movements: gives the next one its number, lets a mover's land, or lets the device
 * come to the next one's event. */
enum act { ENQUEUES, CLAIMS, LANDS, PASSES };

static struct script {
    struct {
        enum act act;
        uint32_t which; /* 1 to MOVEMENTS */
    } steps[2 * MOVEMENTS];
    uint32_t count;
} script;

/* The same, as simple as can be. */
static struct model {
    bool numbered[MOVEMENTS + 1], enqueued[MOVEMENTS + 1], landed[MOVEMENTS + 1], passed[MOVEMENTS + 1],
        known[MOVEMENTS + 1]; /* that it passed */
} model;

static bool over_up_to(uint32_t last, const bool passed[MOVEMENTS + 1])
{
    for (uint32_t i = 1; i <= last; i++)
        if (!model.landed[i] || (model.enqueued[i] && !passed[i])) return false;
    return true;
}

static void check(uint64_t base)
{
    uint32_t issued = 0;
    while (issued < MOVEMENTS && model.landed[issued + 1]) issued++;
    assert_int_equal(atomic_load(&direction.issued), base + issued);
    for (uint32_t i = 1; i <= MOVEMENTS; i++)
        assert_int_equal(known_done(base + i), over_up_to(i, model.known));
}

static void ask(uint64_t base, uint32_t which)
{
    uint64_t asked = device.questions;
    bool over = over_up_to(which, model.passed), landed = true;
    bool known = over_up_to(which, model.known), any = false, all_known = true;
    for (uint32_t i = 1; i <= which; i++) landed &= model.landed[i];
    for (uint32_t i = 1; i <= which; i++) {
        any |= model.enqueued[i] && !model.known[i];
        all_known &= !model.enqueued[i] || model.known[i];
    }
    assert_int_equal(ask_done(base + which), over);
    assert_int_equal(device.questions - asked, !known && landed && any);
    assert_true(!all_known || device.questions == asked);
    for (uint32_t i = 1; over && i <= which; i++) model.known[i] = true;
}

/* `asks`: a bit for each step after which one of them is asked for. */
static void play(uint32_t asks)
{
    uint64_t base = atomic_load(&direction.given);
    sl_event_handle events[MOVEMENTS + 1] = {NULL};
    memset(&model, 0, sizeof model);
    for (uint32_t s = 0; s < script.count; s++) {
        uint32_t which = script.steps[s].which;
        switch (script.steps[s].act) {
        case ENQUEUES:
            assert_int_equal(enqueue(), base + which);
            events[which] =
                atomic_load(&direction.enqueued.events[direction.enqueued.issued % SL_EVENTS_MOST]);
            model.numbered[which] = model.enqueued[which] = model.landed[which] = true;
            break;
        case CLAIMS:
            assert_int_equal(claim(), base + which);
            model.numbered[which] = true;
            break;
        case LANDS:
            land(base + which);
            model.landed[which] = true;
            break;
        case PASSES:
            ((struct noted_event *)events[which])->done = true;
            model.passed[which] = true;
            break;
        }
        check(base);
        if (asks >> s & 1) ask(base, 1 + (s + asks) % MOVEMENTS);
        check(base);
    }
    for (uint32_t i = 1; i <= MOVEMENTS; i++) ask(base, i);
    assert_true(known_done(base + MOVEMENTS));
}

/* All ways in which four movements can end, whoever carries out which, and all times to ask for one. */
static void write_script(uint32_t numbered)
{
    static bool claimed[MOVEMENTS + 1], over[MOVEMENTS + 1];
    bool passes = true; /* in order */
    if (script.count == 2 * MOVEMENTS)
        for (uint32_t asks = 0; asks < 1u << (2 * MOVEMENTS); asks++) play(asks);
    for (int by_mover = 0; by_mover < 2 && numbered < MOVEMENTS; by_mover++) {
        script.steps[script.count].act = by_mover ? CLAIMS : ENQUEUES;
        script.steps[script.count++].which = numbered + 1;
        claimed[numbered + 1] = by_mover;
        write_script(numbered + 1);
        script.count--;
    }
    for (uint32_t i = 1; i <= numbered; i++) {
        if (over[i] || (!claimed[i] && !passes)) continue;
        passes &= claimed[i];
        script.steps[script.count].act = claimed[i] ? LANDS : PASSES;
        script.steps[script.count++].which = i;
        over[i] = true;
        write_script(numbered);
        over[i] = false;
        script.count--;
    }
}

static void whatever_ends_first_all_up_to_one_are_over_before_it_is(void **state)
{
    (void)state;
    script.count = 0;
    write_script(0);
    assert_true(atomic_load(&direction.given) > SL_MOVEMENTS_KEPT);
}

static void what_is_known_to_be_over_stays_so(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) enqueue();
    sl_link_direction_set_done(&direction, 4);
    sl_link_direction_set_done(&direction, 2);
    assert_true(known_done(4));
    assert_false(known_done(5));
}

/* --- Waits. */

/* Movement i is a mover's if bit i - 1 is set. */
static void begin_all(uint32_t movers)
{
    stop(NULL);
    assert_int_equal(start(NULL), 0);
    for (uint32_t i = 1; i <= MOVEMENTS; i++) {
        if (movers >> (i - 1) & 1)
            land(claim());
        else
            enqueue();
    }
}

/* The host waits for what movers have done only so that clocks of simulated threads go along. */
static void check_wait(uint32_t movers, uint32_t which, bool by_host)
{
    uint32_t last = 0, waits = 0;
    begin_all(movers);
    for (uint32_t i = 1; i <= which; i++)
        if (!(movers >> (i - 1) & 1)) last = i;
    assert_int_equal(by_host ? wait_on_host(which) : wait_on_stream(which), SL_OK);
    for (uint32_t i = 1; i <= MOVEMENTS; i++) {
        bool followed = movers >> (i - 1) & 1 && i <= which;
        assert_int_equal(host_waits_for(event_of(i)), followed || (by_host && i == last));
        assert_int_equal(waits_for(event_of(i)), !by_host && i == last);
        waits += followed || i == last;
    }
    assert_int_equal(device.wait_count, waits);
    for (uint32_t i = 1; i <= MOVEMENTS; i++) {
        uint32_t first_enqueued = MOVEMENTS + 1;
        for (uint32_t e = MOVEMENTS; e > (by_host ? which : 0); e--)
            if (!(movers >> (e - 1) & 1)) first_enqueued = e;
        assert_int_equal(known_done(i), i < first_enqueued);
    }
}

static void who_waits_waits_for_the_last_one_enqueued_and_for_the_movers(void **state)
{
    (void)state;
    for (uint32_t movers = 0; movers < 1u << MOVEMENTS; movers++)
        for (uint32_t which = 1; which <= MOVEMENTS; which++)
            for (int by_host = 0; by_host < 2; by_host++) check_wait(movers, which, by_host);
}

/* What is known to be over is waited for by streams while its event is its own, and never by the host. */
static void who_waits_for_what_is_over_asks_nothing(void **state)
{
    (void)state;
    enqueue();
    sl_link_direction_set_done(&direction, 1);
    assert_int_equal(wait_on_host(1), SL_OK);
    assert_int_equal(device.wait_count, 0);
    assert_int_equal(wait_on_stream(1), SL_OK);
    assert_int_equal(waits_for(event_of(1)), 1);
    assert_int_equal(device.wait_count, 1);
}

static void a_wait_that_the_driver_refuses_tells_nothing(void **state)
{
    (void)state;
    enqueue();
    device.refuses_waits = true;
    device.says_nothing = true;
    assert_int_equal(wait_on_host(1), SL_ERR_DRIVER);
    assert_int_equal(wait_on_stream(1), SL_ERR_DRIVER);
    assert_false(known_done(1));
}

/* Its own landing is not enough. */
static void who_waits_sleeps_until_all_have_landed(void **state)
{
    (void)state;
    for (int by_host = 0; by_host < 2; by_host++) {
        uint64_t first = claim(), second = claim(), third = enqueue();
        struct waiter waiter = {.sequence = third, .by_host = by_host};
        device.wait_count = 0;
        begin_wait(&waiter);
        await_sleepers(1);
        land(second);
        await_sleepers(2); /* it has news, and goes on sleeping */
        assert_false(atomic_load(&waiter.back));
        assert_int_equal(device.wait_count, 0);
        land(first);
        assert_int_equal(end_wait(&waiter), SL_OK);
        assert_int_equal(by_host ? host_waits_for(event_of(third)) : waits_for(event_of(third)), 1);
        assert_int_equal(host_waits_for(mark_of(first)), 1);
        assert_int_equal(host_waits_for(mark_of(second)), 1);
        assert_int_equal(device.wait_count, by_host ? 5 : 3); /* for those of the round before, too */
        assert_int_equal(known_done(third), by_host);
        sl_link_direction_set_done(&direction, third);
        sl_test_delay_hook = NULL;
    }
    assert_int_equal(atomic_load(&direction.waiters), 0);
}

/* A chunk's number is told before its movement is decided. */
static void a_number_that_was_told_ahead_is_waited_for(void **state)
{
    (void)state;
    struct waiter waiter = {.sequence = 1};
    begin_wait(&waiter);
    await_sleepers(1);
    assert_int_equal(enqueue(), 1);
    assert_int_equal(end_wait(&waiter), SL_OK);
    assert_int_equal(waits_for(event_of(1)), 1);
}

/* The one who waits has looked already, and would sleep for ever. */
static void what_lands_before_one_sleeps_is_not_missed(void **state)
{
    (void)state;
    sl_test_delay_hook = land_meanwhile;
    for (meanwhile = SL_DELAY_LANDING; meanwhile <= SL_DELAY_SLEEP; meanwhile++)
        assert_int_equal(wait_on_host(claim()), SL_OK);
}

/* --- The end. */

static void an_end_wakes_those_who_wait(void **state)
{
    (void)state;
    struct waiter waiters[] = {{.sequence = 1},
                               {.sequence = 1, .by_host = true},
                               {.sequence = 2},
                               {.sequence = 2, .by_host = true},
                               {.sequence = 3}, /* told ahead */
                               {.sequence = 3, .by_host = true}};
    enum { WAITERS = sizeof waiters / sizeof *waiters };
    claim();
    enqueue();
    for (int w = 0; w < WAITERS; w++) begin_wait(&waiters[w]);
    await_sleepers(WAITERS);
    for (int w = 0; w < WAITERS; w++) assert_false(atomic_load(&waiters[w].back));
    assert_int_equal(device.wait_count, 0);
    sl_link_direction_end(&direction);
    for (int w = 0; w < WAITERS; w++)
        assert_int_equal(end_wait(&waiters[w]), waiters[w].sequence == 2 ? SL_OK : SL_ERR_DRIVER);
    /* What is enqueued runs on the stream in any case, and is waited for there. */
    assert_int_equal(waits_for(event_of(2)), 1);
    assert_int_equal(host_waits_for(event_of(2)), 1);
    assert_int_equal(device.wait_count, 2);
    assert_false(known_done(1));
    assert_false(known_done(2));
}

static void end_meanwhile(enum sl_delay_place place)
{
    if (place == meanwhile) sl_link_direction_end(&direction);
}

static void an_end_before_one_sleeps_is_not_missed(void **state)
{
    (void)state;
    claim();
    sl_test_delay_hook = end_meanwhile;
    for (meanwhile = SL_DELAY_LANDING; meanwhile <= SL_DELAY_SLEEP; meanwhile++) {
        atomic_store(&direction.ended, false);
        assert_int_equal(wait_on_stream(1), SL_ERR_DRIVER);
    }
}

/* What a mover carries out all the same is over, and so is what comes behind it. */
static void what_lands_after_the_end_is_over(void **state)
{
    (void)state;
    claim();
    enqueue();
    claim();
    event_of(2)->done = true;
    sl_link_direction_end(&direction);
    assert_int_equal(wait_on_host(2), SL_OK);
    assert_false(ask_done(2)); /* the first one is not */
    land(1);
    assert_true(known_done(2));
    assert_false(ask_done(3));
    land(3);
    assert_true(known_done(3));
    assert_int_equal(wait_on_host(3), SL_OK);
    assert_int_equal(host_waits_for(mark_of(3)), 1);
}

static char log_path[] = "/tmp/sluice-direction-XXXXXX";

static int start_with_log(void **state)
{
    strcpy(log_path + strlen(log_path) - 6, "XXXXXX");
    int file = mkstemp(log_path);
    if (file < 0) return -1;
    close(file);
    sl_log_open(0, log_path);
    return start(state);
}

static int stop_with_log(void **state)
{
    sl_log_open(0, NULL);
    unlink(log_path);
    return stop(state);
}

static uint32_t lines_said(void)
{
    uint32_t lines = 0;
    FILE *file = fopen(log_path, "r");
    assert_non_null(file);
    for (int c; (c = fgetc(file)) != EOF;) lines += c == '\n';
    fclose(file);
    return lines;
}

/* Its kernel may wait for the program, which waits for it. */
static void patience_ends(void **state)
{
    (void)state;
    for (unsigned s = 0; s < 2; s++) {
        stop(NULL);
        assert_int_equal(start(NULL), 0);
        sl_link_direction_patience_s = s;
        claim();
        enqueue();
        assert_int_equal(wait_on_stream(1), SL_ERR_DRIVER);
        assert_true(atomic_load(&direction.ended));
        assert_int_equal(lines_said(), s + 1);
        sl_link_direction_patience_s = LONG_S;
        assert_int_equal(wait_on_stream(1), SL_ERR_DRIVER);
        assert_int_equal(wait_on_host(1), SL_ERR_DRIVER);
        assert_int_equal(device.wait_count, 0);
        assert_int_equal(wait_on_stream(2), SL_OK);
        assert_int_equal(waits_for(event_of(2)), 1);
        assert_int_equal(wait_on_host(2), SL_OK);
        assert_int_equal(host_waits_for(event_of(2)), 1);
        assert_int_equal(device.wait_count, 2);
        assert_int_equal(lines_said(), s + 1);
    }
}

/* --- Events, and what is forgotten. */

static void each_has_the_event_of_who_carried_it_out(void **state)
{
    (void)state;
    enqueue();
    claim();
    claim();
    enqueue();
    land(3);
    assert_ptr_equal(event_of(1)->stream, &device.out);
    assert_ptr_equal(event_of(3), mark_of(3));
    assert_ptr_equal(event_of(4)->stream, &device.out);
    assert_true(event_of(1) != event_of(4));
    land(2);
    assert_ptr_equal(event_of(2), mark_of(2));
    for (uint64_t s = 1; s <= 4; s++) assert_true(sl_link_direction_has_event(&direction, s));
}

/* A mover records its events anew. The movement is over, and the event of an earlier one is not its own. */
static void a_movers_event_stands_for_it_for_a_while(void **state)
{
    (void)state;
    struct noted_event *before = event_of(enqueue());
    uint64_t moved = claim();
    land(moved);
    for (int i = 1; i < SL_MOVER_EVENTS_KEPT; i++) {
        assert_ptr_equal(event_of(moved), mark_of(moved));
        assert_true(sl_link_direction_has_event(&direction, moved));
        enqueue();
    }
    assert_ptr_equal(event_of(moved), mark_of(moved));
    enqueue();
    assert_ptr_equal(event_of(moved), before);
    assert_false(sl_link_direction_has_event(&direction, moved));
    assert_true(sl_link_direction_has_event(&direction, moved - 1));
    assert_true(sl_link_direction_has_event(&direction, moved + 1));
    device.wait_count = 0;
    assert_int_equal(wait_on_stream(moved), SL_OK);
    assert_int_equal(host_waits_for(mark_of(moved)), 0);
    assert_int_equal(waits_for(before), 1);
}

/* Without any that was enqueued there is nothing to wait for. */
static void an_old_one_of_movers_alone_is_over(void **state)
{
    (void)state;
    for (int i = 0; i <= SL_MOVER_EVENTS_KEPT; i++) land(claim());
    assert_false(sl_link_direction_has_event(&direction, 1));
    assert_true(sl_link_direction_has_event(&direction, 2));
    assert_int_equal(wait_on_stream(1), SL_OK);
    assert_int_equal(wait_on_host(1), SL_OK);
    assert_int_equal(device.wait_count, 0);
}

/* Whoever waits for one that is forgotten waits for the oldest that is not. */
static void a_forgotten_one_is_waited_for_by_the_oldest_kept(void **state)
{
    (void)state;
    land(claim());
    for (int i = 0; i < SL_MOVEMENTS_KEPT + 9; i++) enqueue();
    uint64_t oldest = 11;
    for (uint64_t s = 1; s <= oldest; s++) {
        device.wait_count = 0;
        assert_int_equal(wait_on_stream(s), SL_OK);
        assert_int_equal(waits_for(event_of(oldest)), 1);
        assert_ptr_equal(event_of(s), event_of(oldest));
        assert_int_equal(sl_link_direction_has_event(&direction, s), s == oldest);
    }
    assert_true(event_of(oldest) != event_of(oldest + 1));
    event_of(oldest)->done = true;
    assert_true(known_done(1)); /* since it landed */
    assert_false(known_done(2));
    assert_true(ask_done(2));
    assert_true(known_done(oldest));
    assert_false(known_done(oldest + 1));
}

/* Who learns late that a forgotten one is over knows nothing of the oldest that is remembered. */
static void a_forgotten_one_that_is_over_says_nothing_of_others(void **state)
{
    (void)state;
    for (int i = 0; i < SL_MOVEMENTS_KEPT + 10; i++) enqueue();
    sl_link_direction_set_done(&direction, 1);
    assert_false(known_done(2));
    assert_false(known_done(11));
    sl_link_direction_set_done(&direction, 20);
    assert_true(known_done(20));
    assert_false(known_done(21));
}

static enum sl_status (*wait_of_device)(void *self, sl_event_handle event);

static enum sl_status wait_long(void *self, sl_event_handle event)
{
    device.backend.event_wait = wait_of_device;
    for (int i = 0; i < SL_MOVEMENTS_KEPT + 10; i++) enqueue();
    return wait_of_device(self, event);
}

static void a_wait_that_takes_long_tells_of_its_own_movement(void **state)
{
    (void)state;
    enqueue();
    wait_of_device = device.backend.event_wait;
    device.backend.event_wait = wait_long;
    assert_int_equal(wait_on_host(1), SL_OK);
    assert_false(known_done(2));
    assert_int_equal(atomic_load(&direction.enqueued.done), 1);
}

/* One that lands when all of its time are forgotten does not stand for another. */
static void one_that_lands_when_it_is_forgotten_does_no_harm(void **state)
{
    (void)state;
    claim();
    sl_link_direction_end(&direction); /* or the one with its place would wait for it */
    for (int i = 0; i < SL_MOVEMENTS_KEPT + 2; i++) enqueue();
    uint64_t newer = 1 + SL_MOVEMENTS_KEPT;
    struct noted_event *event = event_of(newer);
    land(1);
    assert_ptr_equal(event_of(newer), event);
    assert_int_equal(wait_on_stream(newer), SL_OK);
    assert_int_equal(waits_for(event), 1);
    assert_int_equal(atomic_load(&direction.issued), newer + 2);
    event_of(newer + 2)->done = true;
    assert_true(ask_done(newer + 2));
}

/* Nor are those over of whose time it is. */
static void what_has_not_landed_is_not_over_though_it_is_old(void **state)
{
    (void)state;
    sl_link_direction_end(&direction);
    for (int i = 0; i < SL_MOVEMENTS_KEPT + 10; i++) claim();
    land(20);
    land(2); /* forgotten */
    assert_int_equal(atomic_load(&direction.issued), 0);
    for (uint64_t s = 1; s <= 20; s++) assert_false(ask_done(s));
    for (uint64_t s = 11; s <= SL_MOVEMENTS_KEPT + 10; s++) land(s);
    assert_true(known_done(SL_MOVEMENTS_KEPT + 10));
}

static void land_the_first(enum sl_delay_place place)
{
    note_sleep(place);
    if (place == SL_DELAY_SLEEP && atomic_load(&direction.issued) == 0) land(1);
}

/* Its place is needed for another: that one waits. */
static void one_under_way_is_not_forgotten(void **state)
{
    (void)state;
    claim();
    for (int i = 1; i < SL_MOVEMENTS_KEPT; i++) enqueue();
    assert_int_equal(atomic_load(&direction.issued), 0);
    seen.asleep = 0;
    sl_test_delay_hook = land_the_first;
    enqueue();
    assert_int_equal(seen.asleep, 1);
    assert_int_equal(atomic_load(&direction.issued), 1 + SL_MOVEMENTS_KEPT);
    assert_false(atomic_load(&direction.ended));
}

/* --- Its parts. */

static void one_that_was_not_built_is_closed(void **state)
{
    (void)state;
    struct sl_link_direction half = {0};
    sl_link_direction_close(&half, &device.backend);
    device.events_left = 7;
    assert_int_equal(sl_link_direction_init(&half, &device.backend, &device.in, SL_LOCK_IN), SL_ERR_DRIVER);
    uint64_t deleted = device.deleted;
    sl_link_direction_close(&half, &device.backend);
    assert_int_equal(device.deleted - deleted, 7);
    sl_link_direction_close(&half, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_enqueued_lands_at_once, start, stop),
        cmocka_unit_test_setup_teardown(what_was_not_carried_out_is_not_over, start, stop),
        cmocka_unit_test_setup_teardown(whatever_ends_first_all_up_to_one_are_over_before_it_is, start, stop),
        cmocka_unit_test_setup_teardown(what_is_known_to_be_over_stays_so, start, stop),
        cmocka_unit_test_setup_teardown(who_waits_waits_for_the_last_one_enqueued_and_for_the_movers, start,
                                        stop),
        cmocka_unit_test_setup_teardown(who_waits_for_what_is_over_asks_nothing, start, stop),
        cmocka_unit_test_setup_teardown(a_wait_that_the_driver_refuses_tells_nothing, start, stop),
        cmocka_unit_test_setup_teardown(who_waits_sleeps_until_all_have_landed, start, stop),
        cmocka_unit_test_setup_teardown(a_number_that_was_told_ahead_is_waited_for, start, stop),
        cmocka_unit_test_setup_teardown(what_lands_before_one_sleeps_is_not_missed, start, stop),
        cmocka_unit_test_setup_teardown(an_end_wakes_those_who_wait, start, stop),
        cmocka_unit_test_setup_teardown(an_end_before_one_sleeps_is_not_missed, start, stop),
        cmocka_unit_test_setup_teardown(what_lands_after_the_end_is_over, start, stop),
        cmocka_unit_test_setup_teardown(patience_ends, start_with_log, stop_with_log),
        cmocka_unit_test_setup_teardown(each_has_the_event_of_who_carried_it_out, start, stop),
        cmocka_unit_test_setup_teardown(a_movers_event_stands_for_it_for_a_while, start, stop),
        cmocka_unit_test_setup_teardown(an_old_one_of_movers_alone_is_over, start, stop),
        cmocka_unit_test_setup_teardown(a_forgotten_one_is_waited_for_by_the_oldest_kept, start, stop),
        cmocka_unit_test_setup_teardown(a_forgotten_one_that_is_over_says_nothing_of_others, start, stop),
        cmocka_unit_test_setup_teardown(a_wait_that_takes_long_tells_of_its_own_movement, start, stop),
        cmocka_unit_test_setup_teardown(one_that_lands_when_it_is_forgotten_does_no_harm, start, stop),
        cmocka_unit_test_setup_teardown(what_has_not_landed_is_not_over_though_it_is_old, start, stop),
        cmocka_unit_test_setup_teardown(one_under_way_is_not_forgotten, start, stop),
        cmocka_unit_test_setup_teardown(one_that_was_not_built_is_closed, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
