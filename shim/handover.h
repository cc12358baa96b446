/* What memory of ours cannot do, the driver's can: be mapped at a second place, be shared after it was
 * mapped, lie beside shared memory or another device's at addresses that were reserved before. Then the
 * driver takes over: its memory replaces ours, with the content, and its addresses replace a reservation of
 * ours. The program's addresses and handles stay valid, but the memory is no longer oversubscribed. All
 * functions wait for the device. Precondition: the caller has its turn (sl_mappings_turn). */
#ifndef SLUICE_SHIM_HANDOVER_H
#define SLUICE_SHIM_HANDOVER_H

#include "mapping.h"

/* The reservation that holds `address`, with all that lies in it. CUDA_ERROR_NOT_SUPPORTED, after one line: a
 * stream captures, or the driver does not give the same addresses; CUDA_ERROR_OUT_OF_MEMORY: the device has
 * no room. Then nothing has changed. Precondition: sl_reservation_holds. */
CUresult sl_hand_over_addresses(uint64_t address);

/* Memory that has an allocation: alone, if it is mapped nowhere; with its reservation otherwise. Errors as
 * above. */
CUresult sl_hand_over_memory(const struct sl_memory_standing *standing);
/* All memory that is kept in [address, address + bytes), where nothing is mapped. */
CUresult sl_hand_over_kept(uint64_t address, uint64_t bytes);

/* Frees what neither a handle nor a mapping holds any more. */
void sl_memory_end(const struct sl_memory_end *end);

#endif
