/* From prediction to plan: what the predictor says will follow, as launches over chunks. Caller holds the
 * order lock. */
#ifndef SLUICE_FORECAST_H
#define SLUICE_FORECAST_H

#include "core.h"

/* Describes the next `symbols` predicted symbols; the first launch of them is core->tick + 1. *input points
 * into core->forecast. *serve is the number of launches in the first third of the symbols. Caller also holds
 * both directions' locks, so that contents do not change. SL_ERR_UNSUPPORTED when nothing is predicted. */
enum sl_status sl_forecast(struct sl_core *core, size_t symbols, struct sl_plan_input *input, size_t *serve);
void sl_forecast_close(struct sl_core *core);

#endif
