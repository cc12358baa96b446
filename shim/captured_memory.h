/* Memory that the program allocates in stream order while the stream captures. CUDA makes it a memory node of
 * the graph. Here it is an allocation of ours without a node, which belongs to the graph: it lives as long as
 * any graph, clone, child or executable graph that the driver made from the captured one, including their
 * launches. A user object (cuUserObjectCreate) that the captured graph refers to reports the end of this
 * time. Thread-safe. */
#ifndef SLUICE_SHIM_CAPTURED_MEMORY_H
#define SLUICE_SHIM_CAPTURED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "driver_api.h"

/* Allocates in the order of `stream`. True: *result is the program's answer. False: the stream does not
 * capture, or the driver has to be asked anyway. Precondition: sl_session_on_for_memory(). */
bool sl_captured_alloc(struct sl_call call, CUstream stream, uint64_t bytes, CUdeviceptr *address,
                       CUresult *result);

/* Frees in the order of `stream`. False: it does not capture, or `address` is not captured memory. */
bool sl_captured_free_in_order(CUdeviceptr address, CUstream stream, CUresult *result);

/* Frees, outside of captures, memory that no graph frees itself: in the order of `stream` or, if NULL, after
 * the host has waited. The next launch of its graph allocates it again. *result: if the driver puts nothing
 * in order, its error, and the memory stays in use. False: `address` is not captured memory. */
bool sl_captured_free(CUdeviceptr address, const CUstream *stream, CUresult *result);

/* The number of the captured graph that `graph` is; 0: it has no memory of a capture. */
uint64_t sl_captured_graph(CUgraph graph);
/* Before the driver's call, which may reuse the handle. */
void sl_captured_graph_destroyed(CUgraph graph);

/* The next node of `stream`, if it captures, may run before earlier captured work of the stream. */
void sl_captured_out_of_order(CUstream stream);

/* Frees the memory of graphs that are gone. Precondition: sl_session_on_for_memory(). */
void sl_captured_settle(void);

/* The context of the core ends, and with it the core's memory. Precondition: the core's addresses are still
 * known. */
void sl_captured_memory_gone(uint32_t core);

/* For the child after fork. */
void sl_captured_after_fork(void);

#endif
