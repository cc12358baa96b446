#include "move/carry_out.h"

#include "device/device_clock.h"

#define ONE_IN 4 /* movements of a mover: the time of one's call is taken for that of each */

static struct sl_link_direction *direction_of(struct sl_migrator *migrator,
                                              const struct sl_movement *movement)
{
    return movement->out ? &migrator->out : &migrator->in;
}

/* Decides what is measured. The mover's stream is idle, and shall be so when the call is made. */
static void begin_timed(struct sl_migrator *migrator, struct sl_mover *mover, struct sl_movement *movement)
{
    const struct sl_backend *backend = migrator->backend;
    struct sl_transfers *transfers = direction_of(migrator, movement)->transfers;
    if (!transfers || (movement->move.flags & 15) == SL_ACTION_POPULATE || atomic_load(migrator->captures))
        return;
    sl_lock(&migrator->times);
    bool wanted = sl_transfers_want(transfers);
    sl_unlock(&migrator->times);
    uint32_t stands_for = migrator->traced ? 1 : mover->count % ONE_IN ? 0 : ONE_IN;
    if ((!wanted && !stands_for) || !sl_backend_has_timed_event(backend, &mover->begin)) return;
    if (wanted && (atomic_exchange(&migrator->wants_anchor, false) ||
                   (migrator->traced && sl_device_clock_is_old(migrator->clock))))
        sl_device_clock_anchor(migrator->clock, mover->stream, true);
    bool begun = backend->event_record(backend->self, mover->begin, mover->stream) == SL_OK &&
                 backend->event_wait(backend->self, mover->begin) == SL_OK;
    movement->timed = begun && wanted;
    movement->stands_for = begun ? stands_for : 0;
}

bool sl_carry_out_wait_before(struct sl_migrator *migrator, struct sl_mover *mover,
                              struct sl_movement *movement)
{
    const struct sl_backend *backend = migrator->backend;
    struct sl_link_direction *other = movement->out ? &migrator->in : &migrator->out;
    bool waited = !movement->other || sl_link_direction_wait(other, backend, movement->other, NULL) == SL_OK;
    if (movement->room) waited &= sl_link_direction_wait_room(other, backend, movement->room) == SL_OK;
    for (uint32_t u = 0; u < movement->users.count; u++)
        backend->event_wait(backend->self, movement->users.events[u]);
    sl_users_let_go(&movement->users);
    begin_timed(migrator, mover, movement);
    return waited;
}

void sl_carry_out_call(struct sl_migrator *migrator, struct sl_mover *mover, struct sl_movement *movement)
{
    const struct sl_backend *backend = migrator->backend;
    enum sl_status (*move)(void *, uint64_t, uint64_t, sl_stream) =
        movement->out ? backend->evict : backend->fetch;
    movement->status = move(backend->self, movement->address, movement->bytes, mover->stream);
    movement->event = sl_mover_event(mover);
    enum sl_status recorded = sl_record_event(backend, movement->event, mover->stream);
    if (movement->status == SL_OK) movement->status = recorded;
}

void sl_carry_out_wait_behind(struct sl_migrator *migrator, struct sl_movement *movement)
{
    enum sl_status waited = sl_wait_host(migrator->backend, movement->event);
    if (movement->status == SL_OK) movement->status = waited;
}

void sl_carry_out_land(struct sl_migrator *migrator, const struct sl_mover *mover,
                       struct sl_movement *movement)
{
    struct sl_link_direction *direction = direction_of(migrator, movement);
    sl_migrator_judge(migrator, movement->status);
    if (movement->stands_for && movement->status == SL_OK) {
        const struct sl_backend *backend = migrator->backend;
        uint64_t ns = backend->event_elapsed_ns(backend->self, mover->begin, movement->event);
        SL_COUNT(migrator->stats, call_ns[movement->out], ns * movement->stands_for);
    }
    if (movement->timed && movement->status == SL_OK) {
        sl_lock(&migrator->times);
        sl_transfers_note(direction->transfers, mover->begin, movement->event, &movement->move,
                          movement->whole);
        sl_unlock(&migrator->times);
    }
    sl_link_direction_landed(direction, movement->sequence, movement->event);
    sl_movers_give(migrator->movers, movement);
}
