/* Memory that the program allocates in stream order while the stream captures. CUDA makes it a memory node,
 * and the graph's; here it is an allocation of ours without a node, which belongs to the graph: it lasts as
 * long as any graph, clone, child or executable graph that the driver made of the captured one, and no launch
 * of them. A user object of the driver's (cuUserObjectCreate), which the captured graph refers to, says when
 * that is over. Thread-safe.
 */
#ifndef SLUICE_SHIM_CAPTURED_MEMORY_H
#define SLUICE_SHIM_CAPTURED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "driver_api.h"

struct sl_footprint;

/* Allocates in the order of `stream`. False: it does not capture, or the driver is to be asked all the same;
 * else *result is the program's answer. pre: sl_session_on_for_memory(). */
bool sl_captured_alloc(struct sl_call call, CUstream stream, uint64_t bytes, CUdeviceptr *address,
                       CUresult *result);

/* Frees in the order of `stream`. False: it does not capture, or `address` is no captured memory. */
bool sl_captured_free_in_order(CUdeviceptr address, CUstream stream, CUresult *result);

/* Frees outside of captures what no graph frees itself, in the order of `stream` or, NULL, when the host has
 * waited; the next launch of its graph allocates it again. False: `address` is no captured memory. */
bool sl_captured_free(CUdeviceptr address, const CUstream *stream, CUresult *result);

/* An executable graph that touches `footprint` is about to be launched in `stream`, which waits for frees in
 * other streams. *seen: for each executable graph its own, 0 at first and whenever its footprint has changed.
 */
void sl_captured_launch(const struct sl_footprint *footprint, CUstream stream, uint64_t *seen);

/* The next node of `stream`, if it captures, may come before what was captured on it so far. */
void sl_captured_out_of_order(CUstream stream);

/* Gives back the memory of graphs that are gone. pre: sl_session_on_for_memory(). */
void sl_captured_settle(void);

/* The child's part of fork. */
void sl_captured_after_fork(void);

#endif
