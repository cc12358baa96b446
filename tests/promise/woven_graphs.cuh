/* Graphs of a woven program: one that is launched again and again, and captures of which nobody knows how
 * they end. */
#ifndef PROMISE_WOVEN_GRAPHS_CUH
#define PROMISE_WOVEN_GRAPHS_CUH

#include "woven_actions.cuh"

/* Checks all that is kept, and memory of its own. */
static void make_graph(World &w)
{
    cudaStream_t stream = new_stream();
    cudaGraph_t graph;
    unsigned *own;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (const Buffer &buffer : w.kept)
        check_in(stream, buffer.address, buffer.bytes, buffer.pattern, 0, w.program->wrong);
    must(cudaMallocAsync(&own, 1 << 20, stream));
    fill_in(stream, own, 1 << 20, 5, 0);
    check_in(stream, own, 1 << 20, 5, 0, w.program->wrong);
    must(cudaFreeAsync(own, stream));
    must(cudaStreamEndCapture(stream, &graph));
    must(cudaGraphInstantiate(&w.graph, graph, 0));
    must(cudaGraphDestroy(graph));
    must(cudaStreamDestroy(stream));
}

static void launch_graph(World &w, int s)
{
    for (const Buffer &buffer : w.kept) before_use(w, buffer, s, false);
    must(cudaGraphLaunch(w.graph, w.stream(s)));
    for (Buffer &buffer : w.kept) after_use(w, buffer, s, false);
}

/* In a stream that may still have work. */
static void begin_capture(World &w, int s, bool relaxed, int steps)
{
    if (w.capturing >= 0 || w.program->streams < 2) return;
    must(cudaStreamBeginCapture(w.stream(s),
                                relaxed ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeThreadLocal));
    w.capturing = s;
    w.relaxed = relaxed;
    w.captured_steps = steps;
    w.captured.clear();
}

/* A check of the buffer becomes a node instead of being done. */
static void capture_check(World &w, const Buffer &buffer)
{
    check_in(w.stream(w.capturing), buffer.address, buffer.bytes, buffer.pattern, w.program->rounds,
             w.program->wrong);
    w.captured.push_back(buffer);
}

static Buffer *same_as_captured(World &w, const Buffer &captured)
{
    for (Buffer &buffer : w.variables)
        if (buffer.address == captured.address && buffer.pattern == captured.pattern) return &buffer;
    return NULL;
}

/* What was captured is done if all that it checks is still there. */
static void end_capture(World &w)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    std::vector<Buffer *> checked;
    int s = w.capturing;
    must(cudaStreamEndCapture(w.stream(s), &graph));
    w.capturing = -1;
    for (const Buffer &captured : w.captured)
        if (Buffer *buffer = same_as_captured(w, captured)) checked.push_back(buffer);
    if (!checked.empty() && checked.size() == w.captured.size()) {
        must(cudaGraphInstantiate(&executable, graph, 0));
        for (const Buffer *buffer : checked) before_use(w, *buffer, s, false);
        must(cudaGraphLaunch(executable, w.stream(s)));
        for (Buffer *buffer : checked) after_use(w, *buffer, s, false);
        must(cudaGraphExecDestroy(executable));
    }
    must(cudaGraphDestroy(graph));
}

#endif
