/* How a mover carries out a movement, step by step, so that its thread can be left where it waits. No lock is
 * held. */
#ifndef SLUICE_CARRY_OUT_H
#define SLUICE_CARRY_OUT_H

#include "move/migrator.h"

/* Waits on the host for what the movement waits for. False: movements of the other direction that come first
 * may never be carried out. */
bool sl_carry_out_wait_before(struct sl_migrator *migrator, struct sl_mover *mover,
                              struct sl_movement *movement);
/* Makes the driver's call, which is right in any case: it only saves time to wait. */
void sl_carry_out_call(struct sl_migrator *migrator, struct sl_mover *mover, struct sl_movement *movement);
/* Waits on the host for its end. */
void sl_carry_out_wait_behind(struct sl_migrator *migrator, struct sl_movement *movement);
/* Lets others know of that. The movement is given back. */
void sl_carry_out_land(struct sl_migrator *migrator, const struct sl_mover *mover,
                       struct sl_movement *movement);

#endif
