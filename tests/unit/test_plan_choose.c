/* Which chunks leave and come: every choice is carried out launch by launch. Breaks if a launch would lack a
 * chunk that the choice could have there, if more than the budget would be resident, if content were lost, or
 * if another chunk left than the policy says. */
#include "plan/plan_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan_check.h"
#include "plan_scene.h"

/* The chunks as a choice is carried out. */
struct course {
    const struct scene *s;
    const struct sl_outlook *outlook;
    const struct sl_choice *choice;
    bool belady; /* victims are checked */
    struct chunk_now {
        bool resident, alive;
        uint32_t moment;  /* after its last use here, or its death */
        uint32_t since;   /* when it last died, or came to life, in host memory */
        uint32_t release; /* its last; SL_NONE */
        uint32_t next;    /* the launch that uses it next; SL_NONE */
    } now[SCENE_CHUNKS];
    uint64_t resident_bytes;
    uint32_t evictions, requests, remotes; /* carried out so far */
};

static bool uses(const struct scene *s, uint32_t t, sl_chunk chunk)
{
    for (uint32_t k = 0; k < s->launches[t].access_count; k++)
        if (s->accesses[s->launches[t].first_access + k].chunk == chunk) return true;
    return false;
}

static bool fits(const struct scene *s, uint32_t t)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < s->launches[t].access_count; k++)
        bytes += s->bytes[s->accesses[s->launches[t].first_access + k].chunk];
    return bytes <= s->in.budget_bytes;
}

/* When a launch starts if nothing waits; one ns more for each, so that all differ. */
static double start_of(const struct scene *s, uint32_t t)
{
    double start = 0;
    for (uint32_t i = 0; i < t; i++) start += s->launch_ns[i] + 1;
    return start;
}

/* Of a chunk that is not used again: as if the launches came again; never used: a window later. */
static double next_use(const struct course *c, sl_chunk chunk)
{
    double window = start_of(c->s, (uint32_t)c->s->in.launch_count);
    uint32_t first = c->outlook->first[chunk];
    if (c->now[chunk].next != SL_NONE) return start_of(c->s, c->now[chunk].next);
    return first != SL_NONE ? window + start_of(c->s, first) : 2 * window;
}

/* The dead go first; then the one whose next use is furthest. */
static void check_victim(const struct course *c, sl_chunk victim, uint32_t launch)
{
    for (sl_chunk other = 0; other < c->s->in.chunk_count; other++) {
        const struct chunk_now *x = &c->now[other];
        if (!x->resident || (launch < c->s->in.launch_count && uses(c->s, launch, other))) continue;
        if (!x->alive) assert_false(c->now[victim].alive);
        if (c->now[victim].alive) assert_true(next_use(c, victim) >= next_use(c, other));
    }
}

static void evict(struct course *c, uint32_t launch)
{
    const struct sl_eviction *e = &c->choice->evictions[c->evictions];
    struct chunk_now *x = &c->now[e->chunk];
    assert_true(x->resident && e->launch == launch && e->moment == x->moment);
    /* What makes room at the very beginning is not kept by the first launch. */
    if (e->request != SL_NONE) assert_false(uses(c->s, launch, e->chunk));
    assert_int_equal(e->kind, x->alive ? SL_ACTION_EVICT : SL_ACTION_DISCARD);
    if (c->belady) check_victim(c, e->chunk, e->request == SL_NONE ? SL_NONE : launch);
    x->resident = false;
    x->release = c->evictions++;
    c->resident_bytes -= c->s->bytes[e->chunk];
}

static void come(struct course *c)
{
    const struct sl_request *r = &c->choice->requests[c->requests];
    struct chunk_now *x = &c->now[r->chunk];
    assert_true(!x->resident && uses(c->s, r->launch, r->chunk));
    assert_true(r->copy == x->alive && r->moment == x->since && r->release == x->release);
    c->resident_bytes += c->s->bytes[r->chunk];
    assert_true(c->resident_bytes <= c->s->in.budget_bytes);
    x->resident = x->alive = true;
    c->requests++;
}

/* All that leaves and comes for the launch: nothing leaves in vain. */
static void begin(struct course *c, uint32_t t)
{
    const struct sl_choice *choice = c->choice;
    for (;;) {
        bool comes = c->requests < choice->request_count && choice->requests[c->requests].launch == t;
        bool leaves = c->evictions < choice->eviction_count && choice->evictions[c->evictions].launch == t &&
                      choice->evictions[c->evictions].request == c->requests;
        if (!comes && !leaves) return;
        assert_true(comes);
        uint64_t bytes = c->s->bytes[choice->requests[c->requests].chunk];
        if (leaves) assert_true(c->resident_bytes + bytes > c->s->in.budget_bytes);
        if (leaves)
            evict(c, t);
        else
            come(c);
    }
}

/* What is there is used there, and the rest of a launch that exceeds the budget in place. */
static void run(struct course *c, uint32_t t)
{
    uint64_t in_bytes = 0, out_bytes = 0;
    for (uint32_t k = 0; k < c->s->launches[t].access_count; k++) {
        uint32_t access = c->s->launches[t].first_access + k;
        sl_chunk chunk = c->s->accesses[access].chunk;
        struct chunk_now *x = &c->now[chunk];
        uint64_t part = c->s->accesses[access].bytes, all = c->s->bytes[chunk];
        if (!part || part > all) part = all;
        assert_true(x->resident || !fits(c->s, t));
        x->next = c->outlook->next[access];
        if (x->resident) {
            x->moment = t + 1;
        } else {
            in_bytes += x->alive ? part : 0;
            out_bytes += part;
            x->since = t + 1; /* what is used there does not come meanwhile */
        }
        x->alive = true;
    }
    if (in_bytes || out_bytes) {
        const struct sl_remote *remote = &c->choice->remotes[c->remotes++];
        assert_true(remote->launch == t && remote->in_bytes == in_bytes && remote->out_bytes == out_bytes);
    }
    for (uint32_t k = 0; k < c->s->launches[t].death_count; k++) {
        struct chunk_now *x = &c->now[c->s->deaths[c->s->launches[t].first_death + k]];
        if (!x->alive) continue;
        x->alive = false;
        *(x->resident ? &x->moment : &x->since) = t + 1;
    }
}

static void check_choice(const struct scene *s, const struct sl_outlook *outlook,
                         const struct sl_choice *choice, bool belady)
{
    struct course c = {.s = s, .outlook = outlook, .choice = choice, .belady = belady};
    size_t oversize = 0;
    for (sl_chunk i = 0; i < s->in.chunk_count; i++) {
        bool resident = s->content[i] >= SL_CONTENT_RESIDENT;
        bool alive = s->content[i] == SL_CONTENT_HOST || s->content[i] == SL_CONTENT_RESIDENT;
        c.now[i] = (struct chunk_now){
            .resident = resident, .alive = alive, .release = SL_NONE, .next = outlook->first[i]};
        c.resident_bytes += resident ? s->bytes[i] : 0;
    }
    assert_int_equal(choice->room_bytes, (int64_t)s->in.budget_bytes - (int64_t)c.resident_bytes);
    while (c.evictions < choice->eviction_count && choice->evictions[c.evictions].request == SL_NONE) {
        assert_true(c.resident_bytes > s->in.budget_bytes); /* none without need */
        evict(&c, 0);
    }
    assert_true(c.resident_bytes <= s->in.budget_bytes);
    for (uint32_t t = 0; t < s->in.launch_count; t++) {
        begin(&c, t);
        oversize += !fits(s, t);
        run(&c, t);
    }
    assert_true(c.requests == choice->request_count && c.evictions == choice->eviction_count &&
                c.remotes == choice->remote_count);
    assert_int_equal(choice->oversize_launches, oversize);
}

/* --- policies by chance --- */

static void beladys_choice_is_carried_out(void **state)
{
    (void)state;
    uint64_t seed = 41;
    for (int i = 0; i < 600; i++) {
        struct scene s;
        struct sl_outlook outlook;
        struct sl_choice choice;
        scene_random(&s, &seed);
        assert_int_equal(sl_outlook_make(&s.in, s.launch_ns, &outlook), SL_OK);
        struct sl_choose_options policy = {.part_of_lacking = 0.25 * random_below(&seed, 5)};
        assert_int_equal(sl_plan_choose(&s.in, &outlook, &policy, &choice), SL_OK);
        check_choice(&s, &outlook, &choice, true);
        sl_choice_free(&choice);
        sl_outlook_free(&outlook);
    }
}

static double draw(uint64_t *seed)
{
    return random_below(seed, 101) / 100.0;
}

/* Prices are advice: whatever they are, launches have what they need. */
static void any_prices_can_be_carried_out(void **state)
{
    (void)state;
    uint64_t seed = 42;
    for (int i = 0; i < 600; i++) {
        struct scene s;
        struct sl_outlook outlook;
        struct sl_choice choice;
        double in[SCENE_LAUNCHES + 1], out[SCENE_LAUNCHES + 1];
        scene_random(&s, &seed);
        assert_int_equal(sl_outlook_make(&s.in, s.launch_ns, &outlook), SL_OK);
        for (uint32_t t = 0; t <= s.in.launch_count; t++) {
            in[t] = draw(&seed);
            out[t] = draw(&seed);
        }
        struct sl_prices prices = {in, out};
        struct sl_choose_options policy = {.prices = &prices,
                                           .least_price = 0.05,
                                           .weight_of_rest = draw(&seed),
                                           .part_of_lacking = draw(&seed)};
        assert_int_equal(sl_plan_choose(&s.in, &outlook, &policy, &choice), SL_OK);
        check_choice(&s, &outlook, &choice, false);
        sl_choice_free(&choice);
        sl_outlook_free(&outlook);
    }
}

/* --- what a policy prefers --- */

enum { A, B, C, D, LETTERS = 7 };

/* Of a and b, both resident, one leaves for c: a is used at launch 5 again, b at launch 4. The first one. */
static struct sl_eviction first_victim(const struct sl_choose_options *policy)
{
    struct scene s;
    struct sl_outlook outlook;
    struct sl_choice choice;
    scene_begin(&s, 4, 2);
    s.content[A] = s.content[B] = SL_CONTENT_RESIDENT;
    s.content[C] = SL_CONTENT_HOST;
    scene_string(&s, "abccba");
    assert_int_equal(sl_outlook_make(&s.in, s.launch_ns, &outlook), SL_OK);
    assert_int_equal(sl_plan_choose(&s.in, &outlook, policy, &choice), SL_OK);
    check_choice(&s, &outlook, &choice, false);
    struct sl_eviction first = choice.evictions[0];
    sl_choice_free(&choice);
    sl_outlook_free(&outlook);
    return first;
}

static void the_cheaper_copy_leaves(void **state)
{
    (void)state;
    double in[LETTERS] = {0}, out[LETTERS] = {0};
    struct sl_prices prices = {in, out};
    struct sl_choose_options policy = {.prices = &prices, .least_price = 0.1};
    assert_int_equal(first_victim(&(struct sl_choose_options){0}).chunk, A);
    assert_int_equal(first_victim(&policy).chunk, A); /* all cost the same */
    in[5] = 1;                                        /* whoever needs a waits for its copy */
    assert_int_equal(first_victim(&policy).chunk, B);
    out[2] = 3; /* but the copy out behind b's use costs more */
    assert_int_equal(first_victim(&policy).chunk, A);
}

/* A launch of four chunks where two fit. What comes for it is that part of what it lacks, unless that is
 * dearer than using it where it is. */
static void a_launch_that_does_not_fit_gets_its_part(void **state)
{
    (void)state;
    static const struct {
        double part, price;
        uint32_t come;
    } cases[] = {{0, 0, 0}, {0.25, 0, 1}, {0.5, 0, 2}, {1, 0, 2}, {1, 0.5, 2}, {1, 10, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene s;
        struct sl_outlook outlook;
        struct sl_choice choice;
        scene_begin(&s, 4, 2);
        for (sl_chunk c = A; c <= D; c++) s.content[c] = SL_CONTENT_HOST;
        scene_launch(&s, 10);
        for (sl_chunk c = A; c <= D; c++) scene_use(&s, c);
        assert_int_equal(sl_outlook_make(&s.in, s.launch_ns, &outlook), SL_OK);
        double in[] = {cases[i].price, 0}, out[] = {0, 0};
        struct sl_prices prices = {in, out};
        struct sl_choose_options policy = {.part_of_lacking = cases[i].part, .least_price = 0.1};
        if (cases[i].price > 0) policy.prices = &prices;
        assert_int_equal(sl_plan_choose(&s.in, &outlook, &policy, &choice), SL_OK);
        check_choice(&s, &outlook, &choice, true);
        assert_int_equal(choice.request_count, cases[i].come);
        assert_int_equal(choice.remotes[0].in_bytes, 4 - cases[i].come);
        sl_choice_free(&choice);
        sl_outlook_free(&outlook);
    }
}

/* Two chunks fit. Those come of which the launch uses most; of the others only their part crosses the link,
 * so what costs more than that does not come at all. */
static void what_it_uses_most_of_comes(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes[4];
        double price;
        sl_chunk come[2];
        uint32_t count;
        uint64_t in_place;
    } cases[] = {{{10, 80, 20, 70}, 0, {B, D}, 2, 30},
                 {{80, 10, 0, 20}, 0, {A, C}, 2, 30},
                 {{10, 80, 20, 70}, 0.5, {B, D}, 2, 30},
                 {{10, 80, 20, 20}, 0.5, {B}, 1, 50}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene s;
        struct sl_outlook outlook;
        struct sl_choice choice;
        scene_begin(&s, 4, 160);
        scene_launch(&s, 10);
        for (sl_chunk c = A; c <= D; c++) {
            s.content[c] = SL_CONTENT_HOST;
            s.bytes[c] = 80;
            scene_use(&s, c);
            s.accesses[c].bytes = cases[i].bytes[c];
        }
        assert_int_equal(sl_outlook_make(&s.in, s.launch_ns, &outlook), SL_OK);
        double in[] = {cases[i].price, 0}, out[] = {0, 0};
        struct sl_prices prices = {in, out};
        struct sl_choose_options policy = {.part_of_lacking = 1, .least_price = 0.3};
        if (cases[i].price > 0) policy.prices = &prices;
        assert_int_equal(sl_plan_choose(&s.in, &outlook, &policy, &choice), SL_OK);
        assert_int_equal(choice.request_count, cases[i].count);
        for (uint32_t r = 0; r < cases[i].count; r++)
            assert_int_equal(choice.requests[r].chunk, cases[i].come[r]);
        assert_int_equal(choice.remotes[0].in_bytes, cases[i].in_place);
        assert_int_equal(choice.remotes[0].out_bytes, cases[i].in_place);
        sl_choice_free(&choice);
        sl_outlook_free(&outlook);
    }
}

/* --- how far ahead --- */

static uint32_t allowed_from(const struct sl_choice *choice, uint32_t request, enum sl_plan_when when)
{
    if (when == SL_PLAN_AHEAD || request == SL_NONE) return 0;
    if (when == SL_PLAN_ON_DEMAND) return choice->requests[request].launch;
    return request ? choice->requests[request - 1].launch : 0;
}

static void nothing_moves_earlier_than_it_may(void **state)
{
    (void)state;
    uint64_t seed = 43;
    for (int i = 0; i < 300; i++) {
        struct scene s;
        struct sl_outlook outlook;
        scene_random(&s, &seed);
        assert_int_equal(sl_outlook_make(&s.in, s.launch_ns, &outlook), SL_OK);
        for (int when = SL_PLAN_AHEAD; when <= SL_PLAN_ON_DEMAND; when++) {
            struct sl_choice free_one, held;
            struct sl_choose_options policy = {0};
            assert_int_equal(sl_plan_choose(&s.in, &outlook, &policy, &free_one), SL_OK);
            assert_int_equal(sl_plan_choose(&s.in, &outlook, &policy, &held), SL_OK);
            sl_choice_hold_back(&held, (enum sl_plan_when)when);
            for (uint32_t r = 0; r < held.request_count; r++) {
                uint32_t from = allowed_from(&held, r, (enum sl_plan_when)when);
                uint32_t moment = free_one.requests[r].moment;
                assert_int_equal(held.requests[r].moment, moment > from ? moment : from);
            }
            for (uint32_t e = 0; e < held.eviction_count; e++) {
                uint32_t from = allowed_from(&held, held.evictions[e].request, (enum sl_plan_when)when);
                uint32_t moment = free_one.evictions[e].moment;
                assert_int_equal(held.evictions[e].moment, moment > from ? moment : from);
            }
            sl_choice_free(&free_one);
            sl_choice_free(&held);
            sl_choice_free(&held); /* zeroed by then */
        }
        sl_outlook_free(&outlook);
    }
}

enum { CHUNKS = 40 };

struct known {
    bool there;
    double deadline, last, price;
};

static double rank(const struct sl_victims *v, const struct known *x, double now)
{
    return (x->deadline - now + v->weight * (now - x->last)) / x->price;
}

/* Against looking at all of them. Prices are rounded to steps of 18 %, so the best may be that much worse. */
static void check_best(const struct sl_victims *v, const struct known *known, double now)
{
    double most = -1;
    for (size_t i = 0; i < CHUNKS; i++)
        if (known[i].there && rank(v, &known[i], now) > most) most = rank(v, &known[i], now);
    sl_chunk best = sl_victims_best(v, now);
    if (most < 0) {
        assert_int_equal(best, SL_NONE);
        return;
    }
    assert_true(known[best].there);
    assert_true(rank(v, &known[best], now) >= most / 1.19 - 1e-9);
}

static void test_the_best_is_the_best_at_any_time(void **state)
{
    (void)state;
    static const double weights[] = {0, 0.5, 1};
    uint64_t seed = 7;
    for (size_t w = 0; w < 3; w++) {
        struct sl_victims v;
        struct known known[CHUNKS] = {0};
        assert_int_equal(sl_victims_new(CHUNKS, weights[w], &v), SL_OK);
        for (double now = 0; now < 3000; now++) {
            sl_chunk c = random_below(&seed, CHUNKS);
            if (known[c].there && (random_below(&seed, 2) || known[c].deadline <= now + 1)) {
                sl_victims_remove(&v, c);
                known[c].there = false;
            } else if (!known[c].there) {
                known[c] =
                    (struct known){true, 4000 + random_below(&seed, 9000), now - random_below(&seed, 500),
                                   0.05 * (1 + random_below(&seed, 200))};
                assert_true(sl_victims_add(&v, c, known[c].deadline, known[c].last, known[c].price));
            }
            check_best(&v, known, now);
        }
        sl_victims_free(&v);
    }
}

static void test_the_dead_are_in_the_order_of_their_deaths(void **state)
{
    (void)state;
    struct sl_victims v;
    assert_int_equal(sl_victims_new(4, 0, &v), SL_OK);
    assert_int_equal(v.dead_first, SL_NONE);
    for (sl_chunk c = 0; c < 4; c++) sl_victims_add_dead(&v, 3 - c);
    sl_victims_remove_dead(&v, 2);
    assert_int_equal(v.dead_first, 3);
    sl_victims_remove_dead(&v, 3);
    assert_int_equal(v.dead_first, 1);
    sl_victims_remove_dead(&v, 1);
    sl_victims_remove_dead(&v, 0);
    assert_int_equal(v.dead_first, SL_NONE);
    assert_int_equal(sl_victims_best(&v, 0), SL_NONE);
    sl_victims_free(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beladys_choice_is_carried_out),
        cmocka_unit_test(any_prices_can_be_carried_out),
        cmocka_unit_test(the_cheaper_copy_leaves),
        cmocka_unit_test(a_launch_that_does_not_fit_gets_its_part),
        cmocka_unit_test(what_it_uses_most_of_comes),
        cmocka_unit_test(nothing_moves_earlier_than_it_may),
        cmocka_unit_test(test_the_best_is_the_best_at_any_time),
        cmocka_unit_test(test_the_dead_are_in_the_order_of_their_deaths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
