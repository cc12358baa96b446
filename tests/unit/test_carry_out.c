/* What the migrator hands to movers, and how a mover carries it out: breaks if a call is made before what it
 * has to wait for is over, or counts as made before it is; if a movement waits for work that may never end;
 * if memory is discarded beside a copy of it; or if nobody is left to move what was decided. */
#include "carry_scene.h"

/* --- What is handed over. */

static void what_is_decided_is_called_when_it_is_carried_out(void **state)
{
    (void)state;
    for (int out = 0; out < 2; out++) {
        struct sl_link_direction *direction = out ? &migrator.out : &migrator.in;
        uint64_t records = device.records;
        assert_int_equal(out ? release(3) : bring(3), 1);
        assert_int_equal(seen.count, out);
        assert_int_equal(device.records, records);
        assert_int_equal(atomic_load(&direction->given), 1);
        assert_int_equal(atomic_load(&direction->issued), 0);
        assert_int_equal(atomic_load(&record(3)->content), out ? SL_CONTENT_HOST : SL_CONTENT_RESIDENT);
        assert_int_equal(atomic_load(&record(3)->frame_bytes), out ? 0 : CHUNK);
        assert_int_equal(atomic_load(&migrator.occupied_bytes), out ? 0 : CHUNK);
        assert_int_equal(atomic_load(out ? &record(3)->out_sequence : &record(3)->in_sequence), 1);
        struct sl_movement *movement = sl_movers_take(migrator.movers, out);
        sl_carry_out_wait_before(&migrator, &mover, movement);
        assert_int_equal(seen.count, out);
        sl_carry_out_call(&migrator, &mover, movement);
        assert_int_equal(seen.count, out + 1);
        assert_int_equal(last_call()->what, out ? EVICTS : FETCHES);
        assert_int_equal(last_call()->chunk, 3);
        assert_int_equal(last_call()->bytes, CHUNK);
        assert_ptr_equal(last_call()->stream, mover.stream);
        struct noted_event *event = movement->event;
        assert_int_equal(event->recorded, records + 1);
        assert_ptr_equal(event->stream, mover.stream);
        assert_int_equal(atomic_load(&direction->issued), 0); /* it is under way */
        assert_int_equal(noted_host_waits(&device, event), 0);
        sl_carry_out_wait_behind(&migrator, movement);
        assert_int_equal(noted_host_waits(&device, event), 1);
        assert_int_equal(atomic_load(&direction->issued), 0);
        sl_carry_out_land(&migrator, &mover, movement);
        assert_true(sl_link_direction_known_done(direction, 1));
        assert_ptr_equal(sl_link_direction_event(direction, 1), event);
        assert_false(is_handed_over(out));
    }
    assert_false(atomic_load(&migrator.failed));
    assert_int_equal(sl_stats_bytes(stats.total.bytes_in), 0); /* there was nothing in it yet */
    assert_int_equal(sl_stats_bytes(stats.total.bytes_out), CHUNK);
    bring_now(3);
    assert_int_equal(sl_stats_bytes(stats.total.bytes_in), CHUNK);
}

static void they_are_carried_out_in_their_order(void **state)
{
    (void)state;
    for (sl_chunk c = 0; c < CHUNKS; c++) assert_int_equal(bring(c), c + 1);
    for (sl_chunk c = 0; c < CHUNKS; c++) carry_next(false);
    for (sl_chunk c = 0; c < CHUNKS; c++) assert_int_equal(seen.calls[c].chunk, c);
    assert_int_equal(atomic_load(&migrator.in.done), CHUNKS);
}

/* The room that an eviction makes is behind it, whoever carries it out. */
static void room_is_behind_the_eviction_that_makes_it(void **state)
{
    (void)state;
    for (sl_chunk c = 0; c < 4; c++) bring_now(c);
    for (sl_chunk c = 0; c < 3; c++) release(c);
    for (uint64_t room = 1; room <= 3; room++)
        assert_int_equal(sl_migrator_room_after(&migrator, 5, room * CHUNK, 4 * CHUNK), room);
    carry_next(true);
    assert_int_equal(sl_migrator_room_after(&migrator, 5, CHUNK, 4 * CHUNK), 1);
    assert_int_equal(sl_migrator_room_after(&migrator, 5, 2 * CHUNK, 4 * CHUNK), 2);
    carry_next(true);
    carry_next(true);
}

static struct owner {
    _Atomic bool over;
    _Atomic uint64_t early;
} owner;

static void *look_for_room(void *unused)
{
    while (!atomic_load(&owner.over)) {
        sl_lock(&migrator.in.lock);
        bool left = !atomic_load(&migrator.occupied_bytes);
        uint64_t after = sl_migrator_room_after(&migrator, 1, CHUNK, CHUNK);
        /* No fetch changes it meanwhile. */
        if (left && after < atomic_load(&record(0)->out_sequence)) atomic_fetch_add(&owner.early, 1);
        sl_unlock(&migrator.in.lock);
    }
    return unused;
}

/* A fetch that another thread decides would take a frame that is not given up yet. */
static void room_is_told_with_the_number_of_who_makes_it(void **state)
{
    (void)state;
    pthread_t thread;
    owner = (struct owner){0};
    bring_now(0);
    assert_int_equal(pthread_create(&thread, NULL, look_for_room, NULL), 0);
    for (int i = 0; i < 300000 && !atomic_load(&owner.early); i++) {
        release(0);
        seen.count = device.wait_count = 0;
        sl_lock(&migrator.in.lock); /* nobody looks while it is over, and before the frame is taken again */
        carry_next(true);
        sl_migrator_fetch(&migrator, 0, CHUNK, 0, SL_CAUSE_DEMAND);
        carry_next(false);
        sl_unlock(&migrator.in.lock);
    }
    atomic_store(&owner.over, true);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&owner.early), 0);
}

/* --- What a movement waits for. */

/* The direction whose movements up to this one end while somebody waits. */
static bool carries_out;
static uint64_t carries_until;
static uint32_t slept;

static void carry_out_meanwhile(enum sl_delay_place place)
{
    if (place != SL_DELAY_LANDING) return;
    slept++;
    struct sl_link_direction *direction = carries_out ? &migrator.out : &migrator.in;
    while (atomic_load(&direction->issued) < carries_until)
        carry(&second, sl_movers_take(migrator.movers, carries_out));
}

static void carry_meanwhile(bool out, uint64_t until)
{
    carries_out = out;
    carries_until = until;
    slept = 0;
    sl_test_delay_hook = carry_out_meanwhile;
}

/* It would copy back what is not there yet, or take the frame too early. */
static void a_fetch_waits_for_the_eviction_of_its_chunk(void **state)
{
    (void)state;
    bring_now(0);
    uint64_t left = release(0);
    bring(0);
    carry_meanwhile(true, left);
    carry_next(false);
    assert_int_equal(slept, 1);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.calls[1].what, EVICTS);
    assert_int_equal(seen.calls[2].what, FETCHES);
    assert_int_equal(seen.calls[2].out_over, left);
    assert_int_equal(atomic_load(&migrator.in.done), 2);
}

static void a_fetch_waits_for_the_frame_that_it_takes(void **state)
{
    (void)state;
    for (sl_chunk c = 0; c < 3; c++) bring_now(c);
    uint64_t own = release(0), frame = release(1);
    release(2);
    bring_behind(5, frame);
    bring_behind(0, own - 1); /* its own comes later */
    carry_meanwhile(true, frame);
    carry_next(false);
    assert_int_equal(slept, 1);
    assert_int_equal(last_call()->chunk, 5);
    assert_int_equal(last_call()->out_over, frame); /* and no other */
    carry_next(false);
    assert_int_equal(last_call()->chunk, 0);
    carry_next(true);
    uint64_t before = release(5), last = bring_behind(1, before - 1);
    carry_next(true);
    slept = 0;
    carry_next(false); /* at once */
    assert_int_equal(slept, 0);
    assert_true(sl_link_direction_known_done(&migrator.in, last));
}

static void the_later_one_of_frame_and_own_eviction_counts(void **state)
{
    (void)state;
    for (sl_chunk c = 0; c < 2; c++) bring_now(c);
    uint64_t frame = release(1), own = release(0);
    bring_behind(0, frame);
    carry_meanwhile(true, own);
    carry_next(false);
    assert_int_equal(slept, 1);
    assert_int_equal(last_call()->what, FETCHES);
    assert_int_equal(last_call()->out_over, own);
}

/* Whichever eviction is over first leaves room; the one of the own chunk comes before, in any case. */
static void a_fetch_takes_the_room_that_any_eviction_left(void **state)
{
    (void)state;
    for (sl_chunk c = 0; c < 3; c++) bring_now(c);
    uint64_t frame = release(0);
    release(1);
    uint64_t own = release(2);
    struct sl_movement *first = sl_movers_take(migrator.movers, true);
    carry(&second, sl_movers_take(migrator.movers, true));
    struct noted_event *left = device.last;
    assert_int_equal(atomic_load(&migrator.out.issued), frame - 1);
    bring_behind(5, frame);
    bring_behind(2, frame);
    carry_meanwhile(true, 0);
    device.wait_count = 0;
    carry_next(false);
    assert_int_equal(slept, 0);
    assert_int_equal(last_call()->chunk, 5);
    assert_int_equal(noted_host_waits(&device, left), 1);
    struct sl_movement *back = sl_movers_take(migrator.movers, false);
    assert_int_equal(back->other, own);
    assert_int_equal(back->room, frame);
    carry(&mover, first);
    carry_next(true);
    carry(&mover, back);
    assert_int_equal(last_call()->chunk, 2);
}

/* The copies would cross. */
static void an_eviction_waits_for_the_fetch_of_its_chunk(void **state)
{
    (void)state;
    bring(7);
    uint64_t came = bring(0);
    bring(6);
    release(0);
    carry_meanwhile(false, came);
    carry_next(true);
    assert_int_equal(slept, 1);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.calls[2].what, EVICTS);
    assert_int_equal(seen.calls[2].in_over, came); /* and no other */
    carry_next(false);
    slept = 0;
    release(6);
    carry_next(true);
    assert_int_equal(slept, 0);
}

static void mark(struct sl_fence *fence, uint32_t s)
{
    assert_int_equal(device.backend.event_new(device.backend.self, &fence->events[s]), SL_OK);
    atomic_fetch_or(&fence->streams, (uint64_t)1 << s);
}

static void clear(struct sl_fence *fence)
{
    for (int s = 0; s < SL_STREAMS; s++)
        if (fence->events[s]) device.backend.event_delete(device.backend.self, fence->events[s]);
}

/* Evicting it while a kernel uses it is slow. */
static void an_eviction_waits_for_those_who_use_its_chunk(void **state)
{
    (void)state;
    struct sl_fence fence = {0};
    for (uint32_t s = 3; s <= 5; s++) mark(&fence, s);
    bring_now(0);
    atomic_store(&record(0)->users, (uint64_t)1 << 3 | (uint64_t)1 << 5 | (uint64_t)1 << 6);
    release_behind(0, &fence);
    uint32_t before = device.wait_count;
    assert_int_equal(atomic_load(&fence.holders),
                     1); /* else its events could be recorded anew before the wait */
    carry_next(true);
    assert_int_equal(atomic_load(&fence.holders), 0);
    assert_int_equal(last_call()->waits, before + 3); /* for the fetch, too */
    assert_int_equal(noted_host_waits(&device, fence.events[3]), 1);
    assert_int_equal(noted_host_waits(&device, fence.events[4]), 0);
    assert_int_equal(noted_host_waits(&device, fence.events[5]), 1);
    assert_int_equal(atomic_load(&record(0)->users), 0);
    bring_now(0);
    release_behind(0, &fence);
    carry_next(true);
    assert_int_equal(noted_host_waits(&device, fence.events[3]), 1); /* nobody has used it since */
    assert_int_equal(atomic_load(&fence.holders), 0);
    clear(&fence);
}

/* They are waited for to save time, as far as there is room. */
static void many_users_are_waited_for_in_part(void **state)
{
    (void)state;
    struct sl_fence fence = {0};
    uint32_t waited = 0;
    for (uint32_t s = 0; s < 2 * SL_MOVEMENT_USERS; s++) mark(&fence, s);
    bring_now(0);
    atomic_store(&record(0)->users, UINT64_MAX);
    release_behind(0, &fence);
    carry_next(true);
    for (uint32_t s = 0; s < 2 * SL_MOVEMENT_USERS; s++) waited += noted_host_waits(&device, fence.events[s]);
    assert_int_equal(waited, SL_MOVEMENT_USERS);
    clear(&fence);
}

/* The program may do something only later that they wait for. */
static void nobody_waits_for_users_that_may_wait_for_the_program(void **state)
{
    (void)state;
    struct sl_fence fence = {0};
    mark(&fence, 3);
    bring_now(0);
    atomic_store(&record(0)->users, (uint64_t)1 << 3);
    atomic_store(&migrator.held, 1);
    release_behind(0, &fence);
    carry_next(true);
    assert_int_equal(last_call()->what, EVICTS);
    assert_int_equal(noted_host_waits(&device, fence.events[3]), 0);
    clear(&fence);
}

static void nobody_waits_for_users_behind_other_ranks(void **state)
{
    (void)state;
    struct sl_fence fence = {0};
    struct sl_behind_stream stream = {.number = 3, .serial = 1, .handle = &device};
    sl_behind_launched(&migrator.behind, &stream);
    struct noted_event *collective = device.last;
    mark(&fence, 3);
    mark(&fence, 4);
    fence.behind[3] = sl_behind_number(&migrator.behind, 3);
    assert_int_not_equal(fence.behind[3], 0);
    for (int over = 0; over < 2; over++) {
        bring_now(0);
        atomic_store(&record(0)->users, (uint64_t)3 << 3);
        release_behind(0, &fence);
        carry_next(true);
        assert_int_equal(last_call()->what, EVICTS);
        assert_int_equal(noted_host_waits(&device, fence.events[3]), over);
        assert_int_equal(noted_host_waits(&device, fence.events[4]), over + 1);
        collective->done = true;
    }
    clear(&fence);
}

/* Two movements for which the other direction waits end in another order. */
static void who_waits_waits_for_all_before(void **state)
{
    (void)state;
    bring_now(0);
    bring_now(1);
    release(0);
    uint64_t later = release(1);
    struct sl_movement *first = sl_movers_take(migrator.movers, true);
    carry(&second, sl_movers_take(migrator.movers, true));
    assert_int_equal(atomic_load(&migrator.out.issued), 0);
    assert_false(sl_migrator_done(&migrator, &migrator.out, later));
    carry(&mover, first);
    assert_true(sl_migrator_done(&migrator, &migrator.out, later));
}

/* --- The budget, with two movers each way that end in any order. */

#define PART (CHUNK / 4)
#define BUDGET (9 * PART)

static struct {
    uint64_t frames[CHUNKS];             /* bytes that the device has given */
    uint64_t dropped[CHUNKS];            /* the discard that gives them back, among the enqueued; 0: none */
    struct sl_movement *under_way[2][2]; /* by direction and mover; NULL: it has none */
    bool called[2][2];
    uint64_t overtaken; /* fetches before an eviction up to their room was over */
    uint64_t fetches;
} side;

static uint64_t frames_now(void)
{
    uint64_t bytes = 0, done = atomic_load(&migrator.out.enqueued.done);
    for (sl_chunk c = 0; c < CHUNKS; c++) {
        if (side.dropped[c] && side.dropped[c] <= done) side.frames[c] = side.dropped[c] = 0;
        bytes += side.frames[c];
    }
    return bytes;
}

static bool may_begin(const struct sl_movement *movement)
{
    if (movement->out) return sl_link_direction_has_landed(&migrator.in, movement->other);
    return sl_link_direction_has_landed(&migrator.out, movement->other) &&
           sl_link_direction_has_room(&migrator.out, movement->room);
}

static void begin_call(struct sl_mover *by, struct sl_movement *movement)
{
    sl_chunk c = sl_arena_chunk(arena, movement->address);
    seen.count = device.wait_count = 0;
    sl_carry_out_wait_before(&migrator, by, movement);
    if (!movement->out) {
        frames_now();
        side.fetches++;
        side.overtaken += !sl_link_direction_has_landed(&migrator.out, movement->room);
        assert_int_equal(side.dropped[c], 0);
        if (side.frames[c] < movement->bytes) side.frames[c] = movement->bytes;
        assert_true(frames_now() <= BUDGET);
    }
    sl_carry_out_call(&migrator, by, movement);
}

static void end_call(struct sl_mover *by, struct sl_movement *movement)
{
    sl_carry_out_wait_behind(&migrator, movement);
    if (movement->out) side.frames[sl_arena_chunk(arena, movement->address)] = 0;
    sl_carry_out_land(&migrator, by, movement);
}

/* Whether there was something to do for the mover. */
static bool go_on(bool out, int m)
{
    struct sl_mover *by = m ? &second : &mover;
    struct sl_movement *movement = side.under_way[out][m];
    if (!movement) {
        side.under_way[out][m] = sl_movers_take(migrator.movers, out);
        return side.under_way[out][m] != NULL;
    }
    if (!side.called[out][m] && !may_begin(movement)) return false;
    if (side.called[out][m]) {
        end_call(by, movement);
        side.under_way[out][m] = NULL;
    } else {
        begin_call(by, movement);
    }
    side.called[out][m] = !side.called[out][m];
    return true;
}

/* Something comes if it fits in what was decided, or else something goes. */
static void decide(uint64_t *random)
{
    sl_chunk c = *random >> 33 & (CHUNKS - 1);
    uint64_t bytes = (1 + (*random >> 40 & 3)) * PART, held = atomic_load(&record(c)->frame_bytes);
    if (bytes > held && atomic_load(&migrator.occupied_bytes) + bytes - held <= BUDGET) {
        sl_lock(&migrator.in.lock);
        uint64_t room = sl_migrator_room_after(&migrator, c, bytes, BUDGET);
        sl_migrator_fetch(&migrator, c, bytes, room, SL_CAUSE_DEMAND);
        sl_unlock(&migrator.in.lock);
    } else if (held) {
        uint64_t enqueued = atomic_load(&migrator.out.enqueued.issued);
        bool dies = (*random >> 45 & 3) == 0;
        if (dies) sl_arena_give(arena, c);
        release(c);
        if (atomic_load(&migrator.out.enqueued.issued) > enqueued) side.dropped[c] = enqueued + 1;
        if (dies) assert_true(sl_arena_take_at(arena, c, CHUNK));
    }
}

static bool is_anything_left(void)
{
    bool left = is_handed_over(true) || is_handed_over(false);
    for (int i = 0; i < 4; i++) left |= side.under_way[i / 2][i % 2] != NULL;
    return left;
}

static void whatever_lands_first_the_budget_is_kept(void **state)
{
    (void)state;
    uint64_t random = 5;
    memset(&side, 0, sizeof side);
    for (uint32_t i = 0; i < 100000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        seen.count = device.wait_count = 0;
        if (random >> 60 < 3)
            decide(&random);
        else
            go_on(random >> 52 & 1, random >> 50 & 1);
        assert_true(frames_now() <= BUDGET);
    }
    while (is_anything_left()) {
        bool moved = false;
        for (int i = 0; i < 4; i++) moved |= go_on(i / 2, i % 2);
        assert_true(moved); /* nobody waits for what comes later */
    }
    /* So that it is no wonder. */
    uint64_t discards = atomic_load(&migrator.out.enqueued.issued);
    print_message("%llu of %llu fetches overtook evictions, beside %llu discards\n",
                  (unsigned long long)side.overtaken, (unsigned long long)side.fetches,
                  (unsigned long long)discards);
    assert_true(side.overtaken > 100 && discards > 100);
}

/* --- Discards. */

/* It runs behind the frees of the memory, on the stream of ours. */
static void what_is_dead_is_discarded_on_the_stream(void **state)
{
    (void)state;
    bring_now(0);
    sl_arena_give(arena, 0);
    uint64_t sequence = release(0);
    assert_false(is_handed_over(true));
    assert_int_equal(seen.count, 2);
    assert_int_equal(last_call()->what, DISCARDS);
    assert_ptr_equal(last_call()->stream, migrator.out.enqueued.stream);
    assert_int_equal(atomic_load(&migrator.out.issued), sequence);
    assert_int_equal(atomic_load(&record(0)->discard_sequence), sequence);
    assert_false(sl_migrator_done(&migrator, &migrator.out, sequence)); /* the stream has yet to come to it */
    device.last->done = true;
    assert_true(sl_migrator_done(&migrator, &migrator.out, sequence));
}

/* Who waited for the fetch, with the lock that movers take, would wait for ever. */
static void what_is_dead_before_it_came_is_copied_behind_its_fetch(void **state)
{
    (void)state;
    uint64_t came = bring(0);
    sl_arena_give(arena, 0);
    release(0);
    assert_true(is_handed_over(true));
    carry_next(false);
    carry_next(true);
    assert_int_equal(last_call()->what, EVICTS);
    assert_int_equal(last_call()->in_over, came);
}

static void discard_absent(sl_chunk c)
{
    sl_lock(&migrator.out.lock);
    sl_migrator_discard(&migrator, c);
    sl_unlock(&migrator.out.lock);
}

/* Else what a mover copies would be what the discard leaves. */
static void nothing_is_discarded_before_its_eviction_is_over(void **state)
{
    (void)state;
    bring_now(0);
    release(0);
    sl_arena_give(arena, 0);
    uint32_t calls = seen.count;
    discard_absent(0);
    assert_int_equal(seen.count, calls);
    carry_next(true);
    discard_absent(0);
    assert_int_equal(last_call()->what, DISCARDS);
    assert_ptr_equal(last_call()->stream, migrator.out.enqueued.stream);
}

/* --- What goes wrong. */

static void assert_said(bool said)
{
    char text[400] = "";
    FILE *file = fopen(log_path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_int_equal(strstr(text, "the driver refused to move memory") != NULL, said);
}

/* Those who wait for it go on, and nothing is moved any more. */
static void a_refused_call_lands(void **state)
{
    (void)state;
    for (int out = 0; out < 2; out++) {
        seen.answer = SL_OK;
        stop(NULL);
        assert_int_equal(start(NULL), 0);
        for (sl_chunk c = 0; c < 2 && out; c++) bring_now(c);
        assert_said(false);
        seen.answer = SL_ERR_DRIVER;
        uint64_t sequence = out ? release(0) : bring(0);
        struct sl_link_direction *direction = out ? &migrator.out : &migrator.in;
        carry_next(out);
        assert_int_equal(last_call()->what, out ? EVICTS : FETCHES);
        assert_true(sl_link_direction_known_done(direction, sequence));
        assert_true(atomic_load(&migrator.failed));
        assert_said(true);
        assert_int_equal(out ? release(1) : bring(1), 0);
    }
}

static void a_call_whose_end_is_not_known_lands(void **state)
{
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        stop(NULL);
        assert_int_equal(start(NULL), 0);
        uint64_t sequence = bring(0);
        device.refuses_records = device.refuses_finishing = !waits;
        device.refuses_waits = device.says_nothing = waits;
        carry_next(false);
        device.refuses_records = device.refuses_finishing = device.refuses_waits = device.says_nothing =
            false;
        assert_true(sl_link_direction_known_done(&migrator.in, sequence));
        assert_true(atomic_load(&migrator.failed));
        assert_said(true);
    }
}

static void assert_enqueued(void)
{
    uint32_t calls = seen.count;
    uint64_t came = bring(6);
    assert_int_equal(seen.count, calls + 1);
    assert_ptr_equal(last_call()->stream, migrator.in.enqueued.stream);
    assert_int_equal(atomic_load(&migrator.in.given), came);
    uint64_t left = release(6);
    assert_int_equal(seen.count, calls + 2);
    assert_int_equal(last_call()->what, EVICTS);
    assert_ptr_equal(last_call()->stream, migrator.out.enqueued.stream);
    assert_int_equal(noted_stream_waits(&device, migrator.out.enqueued.stream,
                                        sl_link_direction_event(&migrator.in, came)),
                     1);
    assert_int_equal(atomic_load(&migrator.out.given), left);
    assert_false(is_handed_over(false) || is_handed_over(true));
}

static void without_movers_movements_are_enqueued(void **state)
{
    (void)state;
    bring_now(0);
    atomic_store(&migrator.movers->off, true);
    assert_enqueued();
    atomic_store(&migrator.movers->off, false);
    bring_now(1);
    sl_link_direction_end(&migrator.in);
    assert_enqueued();
    atomic_store(&migrator.in.ended, false);
    bring_now(2);
    sl_link_direction_end(&migrator.out);
    assert_enqueued();
}

/* The mover that was to carry it out has ended: what is enqueued later does not wait for it. */
static void what_was_left_behind_holds_nobody_up(void **state)
{
    (void)state;
    bring_now(0);
    uint64_t stuck = release(0);
    atomic_store(&migrator.movers->off, true);
    sl_link_direction_end(&migrator.out);
    sl_link_direction_end(&migrator.in);
    uint64_t back = bring(0);
    assert_int_equal(last_call()->what, FETCHES);
    assert_int_equal(sl_migrator_wait_host(&migrator, &migrator.in, back), SL_OK);
    assert_int_equal(sl_migrator_wait_host(&migrator, &migrator.out, stuck), SL_ERR_DRIVER);
    uint64_t left = release(0);
    assert_int_equal(sl_migrator_wait_host(&migrator, &migrator.out, left), SL_OK);
    assert_int_equal(sl_migrator_wait(&migrator, &migrator.in, back, &device), SL_OK);
    assert_false(sl_migrator_done(&migrator, &migrator.out, left));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_decided_is_called_when_it_is_carried_out, start, stop),
        cmocka_unit_test_setup_teardown(they_are_carried_out_in_their_order, start, stop),
        cmocka_unit_test_setup_teardown(room_is_behind_the_eviction_that_makes_it, start, stop),
        cmocka_unit_test_setup_teardown(room_is_told_with_the_number_of_who_makes_it, start, stop),
        cmocka_unit_test_setup_teardown(a_fetch_waits_for_the_eviction_of_its_chunk, start, stop),
        cmocka_unit_test_setup_teardown(a_fetch_waits_for_the_frame_that_it_takes, start, stop),
        cmocka_unit_test_setup_teardown(a_fetch_takes_the_room_that_any_eviction_left, start, stop),
        cmocka_unit_test_setup_teardown(the_later_one_of_frame_and_own_eviction_counts, start, stop),
        cmocka_unit_test_setup_teardown(an_eviction_waits_for_the_fetch_of_its_chunk, start, stop),
        cmocka_unit_test_setup_teardown(an_eviction_waits_for_those_who_use_its_chunk, start, stop),
        cmocka_unit_test_setup_teardown(many_users_are_waited_for_in_part, start, stop),
        cmocka_unit_test_setup_teardown(nobody_waits_for_users_that_may_wait_for_the_program, start, stop),
        cmocka_unit_test_setup_teardown(nobody_waits_for_users_behind_other_ranks, start, stop),
        cmocka_unit_test_setup_teardown(who_waits_waits_for_all_before, start, stop),
        cmocka_unit_test_setup_teardown(whatever_lands_first_the_budget_is_kept, start, stop),
        cmocka_unit_test_setup_teardown(what_is_dead_is_discarded_on_the_stream, start, stop),
        cmocka_unit_test_setup_teardown(what_is_dead_before_it_came_is_copied_behind_its_fetch, start, stop),
        cmocka_unit_test_setup_teardown(nothing_is_discarded_before_its_eviction_is_over, start, stop),
        cmocka_unit_test_setup_teardown(a_refused_call_lands, start, stop),
        cmocka_unit_test_setup_teardown(a_call_whose_end_is_not_known_lands, start, stop),
        cmocka_unit_test_setup_teardown(without_movers_movements_are_enqueued, start, stop),
        cmocka_unit_test_setup_teardown(what_was_left_behind_holds_nobody_up, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
