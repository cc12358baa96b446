/* The forecast: predicted symbols as launches over chunks, a plan's input. It is made in small steps, so no
 * launch is delayed much. Meanwhile the program may go on, as predicted, without changing the result. Caller
 * holds the order lock. */
#ifndef SLUICE_FORECAST_H
#define SLUICE_FORECAST_H

#include "plan/window.h"

struct sl_core;

/* The memory is reused for the next forecast. */
struct sl_forecast {
    struct sl_core *core; /* whose prediction it is */
    sl_tick first_tick;
    uint64_t position;     /* symbols that the program had fed before the first one */
    uint64_t strays;       /* history->strays at the begin */
    sl_symbol *symbols;    /* predicted symbols; those of launches are moved to the front */
    uint64_t *notes;       /* by symbol: where an allocation will lie; or 0 */
    uint8_t *histories;    /* by symbol: its stream history; those of launches are moved to the front */
    bool interleaved;      /* only the order within each stream history is certain */
    size_t count, end, at; /* number of symbols; end of the served ones; the next to process */
    bool believed_on; /* the prediction is trusted beyond the end, so chunks are fetched for later launches,
                         too */
    size_t period;
    struct sl_window window;
    size_t stocked; /* the number of chunks whose state was read */
    uint32_t served_launches;
    struct sl_stock at_end; /* the planner fills in at_end.content */
    uint32_t *stocked_at;   /* by chunk: symbols of the forecast that had been fed when its state was read */
    struct sl_forecast_place {
        uint64_t forecast, address; /* number of the forecast that set this; the place */
        uint32_t slot;              /* that lies there */
        uint32_t mover;             /* see sl_forecast_record */
    } * placed, *placed_at_end;     /* by name: the predicted place of its allocation */
    uint64_t number;                /* of this forecast */
    size_t units, last_units;       /* work done for this forecast and for the previous one */
    const uint32_t *mover_of;       /* see sl_forecast_record; or NULL */
    uint32_t symbol_capacity, note_capacity, place_capacity, history_capacity, chunk_capacity;
};

/* The number of symbols that a plan begun now would serve, if enough are predicted. */
size_t sl_forecast_served_symbols(const struct sl_forecast *forecast);

/* Begins with the next launch and the chunks as they are. SL_ERR_UNSUPPORTED: nothing is predicted. */
enum sl_status sl_forecast_begin(struct sl_forecast *forecast);

/* Begins where the served part of the present one ends. at_end must be complete. SL_ERR_UNSUPPORTED: the
 * program has passed that point or placed an allocation differently, the number of chunks changed, streams
 * interleave by chance, or nothing is predicted. */
enum sl_status sl_forecast_continue(struct sl_forecast *forecast);

/* Processes about `units` further chunks or accesses. True: done. */
bool sl_forecast_step(struct sl_forecast *forecast, size_t units, enum sl_status *status);

/* The plan's input; points into the finished forecast. Launches from served_launches on only serve to look
 * ahead. */
struct sl_plan_input sl_forecast_input(const struct sl_forecast *forecast);

/* Makes the whole forecast, which was only begun, and records its window. `mover_of`: by symbol, the number
 * of its allocation among those that may move, or SL_NONE. */
enum sl_status sl_forecast_record(struct sl_forecast *forecast, const uint32_t *mover_of);

void sl_forecast_close(struct sl_forecast *forecast);

#endif
