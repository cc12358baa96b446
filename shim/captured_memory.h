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

struct sl_footprint;

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

/* What an executable graph has of captures. */
struct sl_captured_part {
    uint64_t graph; /* sl_captured_graph when it was instantiated or updated */
    bool frees;     /* a launch frees what the last one allocated
                       (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) */
    bool holds;     /* the last launch allocated what only the program frees */
    uint64_t seen;  /* for sl_captured_launch; 0 at first and whenever its footprint has changed */
};

/* The number of the captured graph that `graph` is; 0: it has no memory of a capture. */
uint64_t sl_captured_graph(CUgraph graph);
/* Before the driver's call, which may reuse the handle. */
void sl_captured_graph_destroyed(CUgraph graph);

/* Before the launch in `stream` of an executable graph that touches `footprint`: the stream waits for frees
 * in other streams. The driver's error if memory that the launch allocates was not freed since the last
 * one. */
CUresult sl_captured_launch(struct sl_captured_part *part, const struct sl_footprint *footprint,
                            CUstream stream);
/* The driver refused that launch. */
void sl_captured_launch_refused(struct sl_captured_part *part);

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
