#include "peers.h"

#include "calls.h"
#include "native.h"

/* How long a thread waits for its peers' times between two looks at the queue, and after how many such turns
 * a launch takes long. Fewer turns if launches took long before: then the ranks submit in different
 * orders. */
#define TURN_MS 20
#define TURNS 100
#define FEWER_TURNS 2
#define LATE_BEFORE 2

static void *serve(void *unused)
{
    (void)unused;
    sc_lock();
    for (;;) sc_queue_serve_peers();
    return NULL;
}

void sc_peers_expect(void)
{
    static bool started;
    if (!started && !sc_calls_start_thread(serve))
        sc_log("no thread for work that other ranks wait for: they may wait for ever");
    started = true;
}

/* Waits until the launch has its times. */
static void await_time(struct sc_op *op, const struct sc_native_peers *peers, void *token)
{
    static unsigned late; /* number of launches that took long so far */
    unsigned turns = 0;
    while (!op->timed) {
        if (op->arrived && !op->met) {
            uint64_t start_ns, end_ns;
            sc_unlock();
            bool met = peers->meet(token, TURN_MS, &start_ns, &end_ns) == SC_MET;
            sc_lock();
            bool takes_long =
                !met && !op->takes_long && ++turns >= (late < LATE_BEFORE ? TURNS : FEWER_TURNS);
            late += takes_long;
            if (takes_long) sc_queue_takes_long(op);
        }
        sc_queue_await_time(op);
    }
}

void sc_peers_run(struct sc_op *op)
{
    const struct sc_native_peers *peers = op->peers;
    sc_unlock();
    CUresult fault = sc_op_execute(op);
    sc_lock();
    void *token = op->token;
    sc_queue_ran(op, fault);
    if (token) {
        await_time(op, peers, token);
        peers->end(token);
    }
    sc_op_unref(op);
}
