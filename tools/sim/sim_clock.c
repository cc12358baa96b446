#include "tools/sim/sim_clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

struct sl_sim_event {
    uint64_t recorded, reached; /* counts of records: given, and executed */
    double time_ns;             /* of the last executed record */
    uint32_t waiters;           /* streams, linked by `next`; or NOBODY */
    uint32_t users;             /* operations that refer to it */
    bool deleted;
    struct sl_sim_event *previous, *next; /* in the list of all events of the clock */
};

enum kind { WORK, RECORD, WAIT, MARK };

struct operation {
    enum kind kind;
    bool stalls;
    uint64_t given_ns;
    uint64_t count; /* of the event's records */
    union {
        struct sl_sim_work work;
        struct sl_sim_event *event;
        struct sl_sim_mark *mark;
    };
};

enum state {
    EMPTY,    /* nothing to do */
    BLOCKED,  /* at a wait, in the event's list of waiters */
    EXPECTED, /* its next operation lies in the future */
    MEETING,  /* its next work waits for other devices */
    CALLED,   /* its work begins at end_ns */
    QUEUED,   /* its next work waits for a worker, in the clock's queue */
    SERVED,   /* its next work has one */
    BARRED,   /* its next work waits for a range, in the clock's queue of those */
    DELAYED,  /* the same in front of after_ns */
    FIXED,    /* at work, in the time before the bytes */
    FLOWING,  /* at work: bytes and fixed time */
    LAST,     /* at work, in the time after the bytes */
};

struct stream {
    struct operation *ring;
    uint32_t head, count, room; /* room: 0 or a power of two */
    enum state state;
    uint32_t next;           /* in its current list */
    bool holds;              /* the range of its work is its own */
    double began_ns, end_ns; /* of work: its beginning, the end of its fixed time; of a wait: its beginning */
    double idle_ns;          /* end of the last operation */
    double rest[SL_SIM_WAYS];
    uint64_t turn;               /* which bytes were given to the link first */
    double done_ns[SL_SIM_WAYS]; /* scratch: when the remaining bytes will have arrived */
};

struct sl_sim_clock {
    struct sl_sim_link link;
    const struct sl_sim_meetings *meetings;
    double now_ns;
    struct stream *streams;
    uint32_t stream_count, stream_room;
    uint32_t *busy; /* streams that are EXPECTED, CALLED, FIXED, FLOWING or LAST */
    uint32_t busy_count;
    uint32_t woken;              /* streams that may continue, linked by `next` */
    uint64_t turn;               /* of the next one whose bytes begin to flow */
    uint32_t flows[SL_SIM_WAYS]; /* scratch: users of the link, and the movement whose turn it is */
    uint64_t movement[SL_SIM_WAYS];
    uint32_t workers, at_work;          /* workers: 0: no limit */
    uint32_t first_queued, last_queued; /* linked by `next`, in the order in which they became ready */
    uint32_t first_barred;              /* the same: streams that are BARRED or DELAYED */
    uint64_t launches;                  /* that have ended */
    double stall_ns, longer_ns, waited_ns, moving_ns[SL_SIM_WAYS];
    uint32_t meeting;           /* number of streams that are MEETING */
    double granted_ns;          /* while there are any: time may pass up to here */
    struct sl_sim_event events; /* head of the ring */
};

struct sl_sim_clock *sl_sim_clock_new(const struct sl_sim_link *link, uint32_t workers,
                                      const struct sl_sim_meetings *meetings)
{
    struct sl_sim_clock *clock = calloc(1, sizeof *clock);
    if (!clock) return NULL;
    clock->link = *link;
    clock->workers = workers;
    clock->meetings = meetings;
    clock->woken = clock->first_queued = clock->first_barred = NOBODY;
    clock->events.previous = clock->events.next = &clock->events;
    return clock;
}

void sl_sim_clock_delete(struct sl_sim_clock *clock)
{
    if (!clock) return;
    for (struct sl_sim_event *event = clock->events.next, *next; event != &clock->events; event = next) {
        next = event->next;
        free(event);
    }
    for (uint32_t s = 0; s < clock->stream_count; s++) free(clock->streams[s].ring);
    free(clock->streams);
    free(clock->busy);
    free(clock);
}

bool sl_sim_stream_new(struct sl_sim_clock *clock, uint32_t *stream)
{
    if (clock->stream_count == clock->stream_room) {
        uint32_t room = clock->stream_room ? 2 * clock->stream_room : 8;
        struct stream *streams = realloc(clock->streams, room * sizeof *streams);
        if (streams) clock->streams = streams;
        uint32_t *busy = realloc(clock->busy, room * sizeof *busy);
        if (busy) clock->busy = busy;
        if (!streams || !busy) return false;
        clock->stream_room = room;
    }
    clock->streams[clock->stream_count] = (struct stream){.state = EMPTY, .next = NOBODY};
    *stream = clock->stream_count++;
    return true;
}

struct sl_sim_event *sl_sim_event_new(struct sl_sim_clock *clock)
{
    struct sl_sim_event *event = calloc(1, sizeof *event);
    if (!event) return NULL;
    event->waiters = NOBODY;
    event->next = &clock->events;
    event->previous = clock->events.previous;
    event->previous->next = event->next->previous = event;
    return event;
}

static void free_if_unused(struct sl_sim_event *event)
{
    if (!event->deleted || event->users) return;
    event->previous->next = event->next;
    event->next->previous = event->previous;
    free(event);
}

void sl_sim_event_delete(struct sl_sim_clock *clock, struct sl_sim_event *event)
{
    (void)clock;
    event->deleted = true;
    free_if_unused(event);
}

/* --- next operation of a stream */

static void wake(struct sl_sim_clock *clock, uint32_t s)
{
    clock->streams[s].next = clock->woken;
    clock->woken = s;
}

static void begin_flows(struct sl_sim_clock *clock, struct stream *stream)
{
    const struct sl_sim_work *work = &stream->ring[stream->head].work;
    stream->state = FLOWING;
    stream->end_ns = clock->now_ns + (double)work->fixed_ns;
    memcpy(stream->rest, work->bytes, sizeof stream->rest);
    stream->turn = clock->turn++;
}

static const struct sl_sim_work *work_of(const struct stream *stream)
{
    return &stream->ring[stream->head].work;
}

static bool holds_range(const struct sl_sim_clock *clock, uint64_t range)
{
    for (uint32_t s = 0; s < clock->stream_count; s++)
        if (clock->streams[s].holds && work_of(&clock->streams[s])->range == range) return true;
    return false;
}

static void begin_last(struct sl_sim_clock *clock, struct stream *stream)
{
    stream->state = LAST;
    stream->end_ns = clock->now_ns + (double)work_of(stream)->after_ns;
}

/* False: another work has the range, and the stream waits for it in the state `waiting`. */
static bool take_range(struct sl_sim_clock *clock, uint32_t s, enum state waiting)
{
    struct stream *stream = &clock->streams[s];
    if (work_of(stream)->ranged == SL_SIM_RANGE_NOT || stream->holds) return true;
    stream->holds = !holds_range(clock, work_of(stream)->range);
    if (stream->holds) return true;
    uint32_t *last = &clock->first_barred;
    while (*last != NOBODY) last = &clock->streams[*last].next;
    *last = s;
    stream->state = waiting;
    stream->next = NOBODY;
    return false;
}

/* The first stream that waits for the range has it now. */
static void give_range_back(struct sl_sim_clock *clock, struct stream *stream)
{
    if (!stream->holds) return;
    stream->holds = false;
    for (uint32_t *at = &clock->first_barred; *at != NOBODY; at = &clock->streams[*at].next) {
        uint32_t s = *at;
        if (work_of(&clock->streams[s])->range != work_of(stream)->range) continue;
        *at = clock->streams[s].next;
        clock->streams[s].holds = true;
        wake(clock, s);
        return;
    }
}

static void end_fixed(struct sl_sim_clock *clock, struct stream *stream)
{
    if (work_of(stream)->ranged == SL_SIM_RANGE_BEFORE) give_range_back(clock, stream);
    begin_flows(clock, stream);
}

static void begin_work(struct sl_sim_clock *clock, struct stream *stream, const struct sl_sim_work *work)
{
    stream->end_ns = clock->now_ns + (double)work->before_ns;
    stream->state = FIXED;
    if (!work->before_ns) end_fixed(clock, stream);
}

/* False: all workers are at work, and the stream is in their queue. */
static bool take_worker(struct sl_sim_clock *clock, uint32_t s)
{
    struct stream *stream = &clock->streams[s];
    if (!clock->workers || stream->state == SERVED || stream->state == BARRED) return true;
    if (clock->at_work < clock->workers) {
        clock->at_work++;
        return true;
    }
    stream->state = QUEUED;
    stream->next = NOBODY;
    if (clock->first_queued == NOBODY)
        clock->first_queued = s;
    else
        clock->streams[clock->last_queued].next = s;
    clock->last_queued = s;
    return false;
}

/* The first stream in the queue takes the worker over. */
static void give_worker_back(struct sl_sim_clock *clock)
{
    uint32_t s = clock->first_queued;
    if (!clock->workers) return;
    if (s == NOBODY) {
        clock->at_work--;
        return;
    }
    clock->first_queued = clock->streams[s].next;
    clock->streams[s].state = SERVED;
    wake(clock, s);
}

static void reach(struct sl_sim_clock *clock, const struct operation *operation)
{
    struct sl_sim_event *event = operation->event;
    if (operation->count > event->reached) event->reached = operation->count;
    event->time_ns = clock->now_ns;
    uint32_t s = event->waiters;
    event->waiters = NOBODY;
    while (s != NOBODY) {
        uint32_t next = clock->streams[s].next;
        wake(clock, s); /* streams that wait for a later record block again */
        s = next;
    }
}

static void end_operation(struct sl_sim_clock *clock, struct stream *stream)
{
    struct operation *operation = &stream->ring[stream->head];
    if (operation->kind == WORK) give_range_back(clock, stream);
    if (operation->kind == WORK && operation->work.moves)
        clock->moving_ns[operation->work.way] += clock->now_ns - stream->began_ns;
    stream->head = (stream->head + 1) & (stream->room - 1);
    stream->count--;
    stream->state = EMPTY;
    stream->idle_ns = clock->now_ns;
    if (operation->kind == WORK && operation->work.by_worker) give_worker_back(clock);
    if (operation->kind == WORK && operation->work.launch) {
        double beyond = clock->now_ns - stream->began_ns - (double)operation->work.alone_ns;
        clock->launches++;
        if (beyond > 0) clock->longer_ns += beyond;
    }
    if (operation->kind == RECORD || operation->kind == WAIT) {
        operation->event->users--;
        free_if_unused(operation->event);
    }
}

/* Other devices may wait for what the stream does from here on, so earlier grants are void. */
static void arrive(struct sl_sim_clock *clock, struct stream *stream, uint32_t meeting)
{
    stream->state = MEETING;
    stream->began_ns = clock->now_ns;
    clock->meeting++;
    clock->granted_ns = clock->now_ns;
    clock->meetings->arrive(clock->meetings->context, meeting, clock->now_ns);
}

/* Executes the stream's next operation if it takes no time. False: the stream is idle, blocked or at work. */
static bool do_next(struct sl_sim_clock *clock, uint32_t s)
{
    struct stream *stream = &clock->streams[s];
    if (!stream->count) {
        stream->state = EMPTY;
        return false;
    }
    struct operation *operation = &stream->ring[stream->head];
    bool was_blocked = stream->state == BLOCKED;
    if ((double)operation->given_ns > clock->now_ns) {
        stream->state = EXPECTED;
        clock->busy[clock->busy_count++] = s;
        return false;
    }
    switch (operation->kind) {
    case WORK:
        if (operation->work.meeting && clock->meetings && stream->state != CALLED) {
            arrive(clock, stream, operation->work.meeting);
            return false;
        }
        if (stream->state == DELAYED) {
            begin_last(clock, stream);
            clock->busy[clock->busy_count++] = s;
            return false;
        }
        if (operation->work.by_worker && !take_worker(clock, s)) return false;
        if (stream->state != BARRED) stream->began_ns = clock->now_ns;
        if (operation->work.ranged != SL_SIM_RANGE_AFTER && !take_range(clock, s, BARRED)) return false;
        begin_work(clock, stream, &operation->work);
        clock->busy[clock->busy_count++] = s;
        return false;
    case RECORD:
        reach(clock, operation);
        break;
    case WAIT:
        if (operation->event->reached < operation->count) {
            if (!was_blocked) stream->began_ns = clock->now_ns;
            stream->state = BLOCKED;
            stream->next = operation->event->waiters;
            operation->event->waiters = s;
            return false;
        }
        if (was_blocked && operation->stalls) clock->stall_ns += clock->now_ns - stream->began_ns;
        break;
    case MARK:
        *operation->mark = (struct sl_sim_mark){clock->now_ns,
                                                clock->stall_ns,
                                                clock->longer_ns,
                                                clock->waited_ns,
                                                {clock->moving_ns[SL_SIM_IN], clock->moving_ns[SL_SIM_OUT]}};
        break;
    }
    end_operation(clock, stream);
    return true;
}

static void go_on(struct sl_sim_clock *clock)
{
    while (clock->woken != NOBODY) {
        uint32_t s = clock->woken;
        clock->woken = clock->streams[s].next;
        while (do_next(clock, s)) {
        }
    }
}

/* --- passing of time */

/* Copies of movements are one after the other; whoever else uses the link shares it with the one whose turn
 * it is. */
static void share_link(struct sl_sim_clock *clock)
{
    for (int way = 0; way < SL_SIM_WAYS; way++) {
        clock->flows[way] = 0;
        clock->movement[way] = UINT64_MAX;
    }
    for (uint32_t i = 0; i < clock->busy_count; i++) {
        const struct stream *stream = &clock->streams[clock->busy[i]];
        for (int way = 0; stream->state == FLOWING && way < SL_SIM_WAYS; way++) {
            if (!(stream->rest[way] > 0)) continue;
            clock->flows[way] += !work_of(stream)->moves || clock->movement[way] == UINT64_MAX;
            if (work_of(stream)->moves && stream->turn < clock->movement[way])
                clock->movement[way] = stream->turn;
        }
    }
}

static double speed(const struct sl_sim_clock *clock, const struct stream *stream, int way)
{
    if (work_of(stream)->moves && stream->turn != clock->movement[way]) return 0;
    double alone = clock->link.bytes_per_ns[way] / clock->flows[way];
    return clock->flows[!way] ? alone * clock->link.both : alone;
}

/* The time of the stream's next change of state. */
static double next_change(const struct sl_sim_clock *clock, struct stream *stream)
{
    if (stream->state == EXPECTED) return (double)stream->ring[stream->head].given_ns;
    if (stream->state == CALLED || stream->state == LAST) return stream->end_ns;
    double next = stream->end_ns > clock->now_ns || stream->state == FIXED ? stream->end_ns : INFINITY;
    bool flows = false;
    for (int way = 0; stream->state == FLOWING && way < SL_SIM_WAYS; way++) {
        if (!(stream->rest[way] > 0)) continue;
        stream->done_ns[way] = clock->now_ns + stream->rest[way] / speed(clock, stream, way);
        if (stream->done_ns[way] < next) next = stream->done_ns[way];
        flows = true;
    }
    return next == INFINITY && !flows ? clock->now_ns : next;
}

/* Lets the stream's bytes flow from `from_ns` until now, at the speeds of this interval. */
static void flow(const struct sl_sim_clock *clock, struct stream *stream, double from_ns)
{
    for (int way = 0; way < SL_SIM_WAYS; way++) {
        if (!(stream->rest[way] > 0)) continue;
        if (stream->done_ns[way] <= clock->now_ns) {
            stream->rest[way] = 0;
        } else {
            stream->rest[way] -= (clock->now_ns - from_ns) * speed(clock, stream, way);
            if (!(stream->rest[way] > 0)) stream->rest[way] = 1; /* below the resolution of the arithmetic */
        }
    }
}

/* Ends the part of the work whose time has come. Returns whether the work is over, or waits. */
static bool finish(struct sl_sim_clock *clock, uint32_t s)
{
    struct stream *stream = &clock->streams[s];
    bool passed = stream->end_ns <= clock->now_ns;
    if (stream->state == LAST) return passed;
    if (stream->state != FLOWING || !passed || stream->rest[SL_SIM_IN] > 0 || stream->rest[SL_SIM_OUT] > 0)
        return false;
    if (!work_of(stream)->after_ns) return true;
    if (!take_range(clock, s, DELAYED)) return true;
    begin_last(clock, stream);
    return false;
}

/* Schedules the work of the stream that waits at the meeting for `begin_ns`. */
static void call(struct sl_sim_clock *clock, uint32_t meeting, double begin_ns)
{
    for (uint32_t s = 0; s < clock->stream_count; s++) {
        struct stream *stream = &clock->streams[s];
        if (stream->state != MEETING || stream->ring[stream->head].work.meeting != meeting) continue;
        stream->state = CALLED;
        stream->end_ns = begin_ns > clock->now_ns ? begin_ns : clock->now_ns;
        clock->waited_ns += stream->end_ns - stream->began_ns;
        clock->meeting--;
        clock->busy[clock->busy_count++] = s;
        return;
    }
}

/* Asks the other devices whether time may pass to `next_ns` while streams wait for them. False: a meeting was
 * called. */
static bool pass(struct sl_sim_clock *clock, double next_ns)
{
    if (!clock->meeting || next_ns <= clock->granted_ns) return true;
    double until_ns = next_ns;
    uint32_t meeting = clock->meetings->wait(clock->meetings->context, clock->now_ns, next_ns, &until_ns);
    if (meeting)
        call(clock, meeting, until_ns);
    else
        clock->granted_ns = until_ns;
    return !meeting;
}

/* Advances to the next change, at most to `limit_ns`. False: nothing changes up to there. */
static bool step(struct sl_sim_clock *clock, double limit_ns)
{
    double next = INFINITY;
    uint32_t kept = 0, count = clock->busy_count;
    share_link(clock);
    for (uint32_t i = 0; i < count; i++) {
        double change = next_change(clock, &clock->streams[clock->busy[i]]);
        if (change < next) next = change;
    }
    bool changes = next <= limit_ns && next != INFINITY;
    if (!pass(clock, changes ? next : limit_ns)) return true;
    if (!changes && limit_ns == INFINITY) return false;
    if (!changes) next = limit_ns;
    if (next < clock->now_ns) next = clock->now_ns;
    double from_ns = clock->now_ns;
    clock->now_ns = next;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t s = clock->busy[i];
        struct stream *stream = &clock->streams[s];
        bool leaves =
            (stream->state == EXPECTED || stream->state == CALLED) && next_change(clock, stream) <= next;
        if (stream->state == FLOWING) flow(clock, stream, from_ns);
        if (stream->state == FIXED && stream->end_ns <= next) end_fixed(clock, stream);
        bool ends = finish(clock, s);
        if (ends && stream->state == DELAYED) continue;
        if (ends) end_operation(clock, stream);
        if (leaves || ends)
            wake(clock, s);
        else
            clock->busy[kept++] = s;
    }
    clock->busy_count = kept;
    go_on(clock);
    return changes;
}

void sl_sim_run(struct sl_sim_clock *clock, uint64_t until_ns)
{
    while (clock->now_ns <= (double)until_ns && step(clock, (double)until_ns)) {
    }
}

bool sl_sim_idle(const struct sl_sim_clock *clock, uint32_t stream, double *since_ns)
{
    if (since_ns) *since_ns = clock->streams[stream].idle_ns;
    return clock->streams[stream].count == 0;
}

static void tell_now(const struct sl_sim_clock *clock, uint64_t *now_ns)
{
    *now_ns = (uint64_t)clock->now_ns;
    *now_ns += (double)*now_ns < clock->now_ns; /* rounded up */
}

bool sl_sim_run_to_event(struct sl_sim_clock *clock, const struct sl_sim_event *event, uint64_t *now_ns)
{
    while (event->reached < event->recorded && step(clock, INFINITY)) {
    }
    tell_now(clock, now_ns);
    return event->reached >= event->recorded;
}

bool sl_sim_run_to_launch(struct sl_sim_clock *clock, uint64_t launches, uint64_t *now_ns)
{
    while (clock->launches < launches && step(clock, INFINITY)) {
    }
    tell_now(clock, now_ns);
    return clock->launches >= launches;
}

bool sl_sim_run_to_end(struct sl_sim_clock *clock, uint64_t *now_ns)
{
    while (step(clock, INFINITY)) {
    }
    tell_now(clock, now_ns);
    for (uint32_t s = 0; s < clock->stream_count; s++)
        if (clock->streams[s].count) return false;
    return true;
}

bool sl_sim_reached(const struct sl_sim_event *event)
{
    return event->reached >= event->recorded;
}

double sl_sim_reached_ns(const struct sl_sim_event *event)
{
    return event->time_ns;
}

/* --- pushing */

static bool push(struct sl_sim_clock *clock, uint32_t s, const struct operation *operation)
{
    struct stream *stream = &clock->streams[s];
    if (stream->count == stream->room) {
        uint32_t room = stream->room ? 2 * stream->room : 16;
        struct operation *ring = calloc(room, sizeof *ring);
        if (!ring) return false;
        for (uint32_t i = 0; i < stream->count; i++)
            ring[i] = stream->ring[(stream->head + i) & (stream->room - 1)];
        free(stream->ring);
        stream->ring = ring;
        stream->room = room;
        stream->head = 0;
    }
    stream->ring[(stream->head + stream->count++) & (stream->room - 1)] = *operation;
    if (stream->count > 1 || stream->state != EMPTY) return true;
    wake(clock, s);
    go_on(clock);
    return true;
}

bool sl_sim_push(struct sl_sim_clock *clock, uint32_t stream, uint64_t given_ns,
                 const struct sl_sim_work *work)
{
    return push(clock, stream, &(struct operation){.kind = WORK, .given_ns = given_ns, .work = *work});
}

bool sl_sim_record(struct sl_sim_clock *clock, uint32_t stream, uint64_t given_ns, struct sl_sim_event *event)
{
    struct operation operation = {
        .kind = RECORD, .given_ns = given_ns, .count = event->recorded + 1, .event = event};
    event->users++;
    event->recorded++;
    if (push(clock, stream, &operation)) return true;
    event->users--;
    event->recorded--;
    return false;
}

bool sl_sim_wait(struct sl_sim_clock *clock, uint32_t stream, uint64_t given_ns, struct sl_sim_event *event,
                 bool stalls)
{
    struct operation operation = {
        .kind = WAIT, .stalls = stalls, .given_ns = given_ns, .count = event->recorded, .event = event};
    if (event->reached >= event->recorded) return true;
    event->users++;
    if (push(clock, stream, &operation)) return true;
    event->users--;
    return false;
}

bool sl_sim_mark(struct sl_sim_clock *clock, uint32_t stream, uint64_t given_ns, struct sl_sim_mark *mark)
{
    return push(clock, stream, &(struct operation){.kind = MARK, .given_ns = given_ns, .mark = mark});
}
