/* Internals of captures, shared by capture.c and capture_api.c. pre: the driver's lock is held. */
#ifndef SOFTCUDA_CAPTURE_STATE_H
#define SOFTCUDA_CAPTURE_STATE_H

#include "capture.h"

struct sc_capture *sc_capture_new(struct sc_stream *origin, CUstreamCaptureMode mode, struct sc_graph *graph);
/* Takes all streams out of the capture and ends it; returns its graph. */
struct sc_graph *sc_capture_finish(struct sc_capture *capture);
struct sc_branch *sc_branch_new(struct sc_capture *capture);
/* Adds a node unless the branch has it already. false: no memory. */
bool sc_branch_add(struct sc_branch *branch, CUgraphNode node, const CUgraphEdgeData *data);

#endif
