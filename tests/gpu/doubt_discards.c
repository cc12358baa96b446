/* What a discard does to content and when: writes behind it must count, uses that it is ordered behind must
 * not see it, neighbours must not lose anything. And what it saves. */
#include <string.h>

#include "answer.h"
#include "hold.h"
#include "probe.h"

enum { OLD = 0x11111111, NEW = 0x22222222 };
static const double HOLD_SECONDS = 0.5;

/* Words that kernels find to be other than `value`. */
static uint64_t others_on_device(const struct probe *probe, CUdeviceptr memory, uint64_t bytes,
                                 unsigned value, CUstream stream)
{
    launch_count(probe, memory, bytes, value, stream);
    return counted(probe, stream);
}

/* Each: a history in the letters of move() without waiting in between, where `f` is a kernel that fills with
 * NEW and `F` the host that does, then whether all is NEW, seen from the host. */
static const struct {
    const char *name, *before, *steps;
} writes[] = {
    {"written by a kernel behind a discard, then evicted", "hd", "xfe"},
    {"fetched and written behind a discard, then evicted", "hd", "xdfe"},
    {"written in place behind a discard on the host", "hde", "xf"},
    {"fetched and written behind a discard on the host, then evicted", "hde", "xdfe"},
    {"evicted behind a discard, written in place", "hd", "xef"},
    {"evicted, fetched and written behind a discard, then evicted", "hd", "xedfe"},
    {"discarded and fetched in one, written, then evicted", "hde", "pfe"},
    {"written by the host behind a discard, then fetched and evicted", "hde", "xFde"},
};

static void step(const struct probe *probe, char step, CUdeviceptr memory, uint64_t bytes, CUstream stream)
{
    if (step == 'f') {
        launch_fill(probe, memory, bytes, NEW, stream);
    } else if (step == 'F') {
        MUST(cu.cuStreamSynchronize(stream));
        unsigned *words = (unsigned *)(uintptr_t)memory;
        for (uint64_t i = 0; i < bytes / sizeof *words; i++) words[i] = NEW;
    } else {
        move(probe, step, memory, bytes, stream);
    }
}

static void check_writes(const struct probe *probe, uint64_t bytes, CUstream stream)
{
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
        move_all(probe, writes[i].before, memory, bytes, stream);
        for (const char *s = writes[i].steps; *s; s++) step(probe, *s, memory, bytes, stream);
        MUST(cu.cuStreamSynchronize(stream));
        answer_metadata(words_other_than((const void *)(uintptr_t)memory, bytes, NEW) == 0, "right: %s",
                        writes[i].name);
        MUST(cu.cuMemFree(memory));
    }
}

/* What is left of OLD where nobody wrote after a discard. */
static void look_at_rest(const struct probe *probe, uint64_t bytes, bool on_device, CUstream stream)
{
    CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
    uint64_t words = bytes / 4;
    move_all(probe, "hd", memory, bytes, stream);
    launch_fill(probe, memory, bytes, OLD, stream);
    move_all(probe, on_device ? "x" : "ex", memory, bytes, stream);
    uint64_t old = words - others_on_device(probe, memory, bytes, OLD, stream);
    uint64_t zero = words - others_on_device(probe, memory, bytes, 0, stream);
    const char *where = on_device ? "on the device" : "on the host";
    answer_number(100 * (double)old / (double)words, "%", "read after a discard %s: old content", where);
    answer_number(100 * (double)zero / (double)words, "%", "read after a discard %s: zeros", where);
    MUST(cu.cuMemFree(memory));
}

/* A reader waits on one stream; another stream discards, behind it or without an order. */
static void check_order(const struct probe *probe, uint64_t bytes, bool ordered)
{
    struct hold hold;
    CUstream reader = stream_new(), discarder = stream_new();
    CUevent behind = event_new();
    CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
    move_all(probe, "hd", memory, bytes, reader);
    launch_fill(probe, memory, bytes, OLD, reader);
    MUST(cu.cuStreamSynchronize(reader));
    hold_begin(&hold, reader, HOLD_SECONDS);
    launch_count(probe, memory, bytes, OLD, reader);
    MUST(cu.cuEventRecord(behind, reader));
    if (ordered) MUST(cu.cuStreamWaitEvent(discarder, behind, 0));
    double before = now_seconds();
    move(probe, 'x', memory, bytes, discarder);
    double call = now_seconds() - before;
    if (!ordered) MUST(cu.cuStreamSynchronize(discarder));
    bool gave_up = hold_end(&hold);
    uint64_t lost = counted(probe, reader);
    MUST(cu.cuStreamSynchronize(discarder));
    if (ordered)
        answer_metadata(lost == 0, "a discard behind a reader's event does not reach the reader");
    else
        answer_number(100 * (double)lost / (double)(bytes / 4), "%",
                      "lost to a reader on another stream by a discard without order");
    answer_number(call * 1e6, "us", "discard, %s a stream that is held: call", ordered ? "behind" : "beside");
    answer_text(gave_up ? "waits" : "returns", "discard, %s a stream that is held",
                ordered ? "behind" : "beside");
    MUST(cu.cuMemFree(memory));
    MUST(cu.cuEventDestroy(behind));
    MUST(cu.cuStreamDestroy(reader));
    MUST(cu.cuStreamDestroy(discarder));
}

/* A block in the middle is discarded: what lies before and behind it keeps its content. */
static void check_neighbours(const struct probe *probe, uint64_t block, CUstream stream)
{
    uint64_t bytes = 3 * block;
    CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
    move_all(probe, "hd", memory, bytes, stream);
    launch_fill(probe, memory, bytes, OLD, stream);
    move(probe, 'x', memory + block, block, stream);
    move(probe, 'e', memory, bytes, stream);
    MUST(cu.cuStreamSynchronize(stream));
    const char *host = (const char *)(uintptr_t)memory;
    answer_metadata(
        words_other_than(host, block, OLD) == 0 && words_other_than(host + 2 * block, block, OLD) == 0,
        "neighbours of a discarded block of %llu KiB keep their content", (unsigned long long)(block / 1024));
    MUST(cu.cuMemFree(memory));
}

static double time_step(const struct probe *probe, const char *history, char step, CUdeviceptr memory,
                        uint64_t bytes, CUstream stream)
{
    double best = 0;
    for (int i = 0; i <= probe->repeat; i++) {
        move_all(probe, history, memory, bytes, stream);
        double before = now_seconds();
        move(probe, step, memory, bytes, stream);
        MUST(cu.cuStreamSynchronize(stream));
        double seconds = now_seconds() - before;
        if (i == 0 || seconds < best) best = seconds;
    }
    return best;
}

static void measure_savings(const struct probe *probe, uint64_t bytes, CUstream stream)
{
    CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
    move_all(probe, "h", memory, bytes, stream);
    double fetch = time_step(probe, "dwe", 'd', memory, bytes, stream);
    double evict = time_step(probe, "dw", 'e', memory, bytes, stream);
    answer_number(fetch * 1e6, "us", "fetch of %llu MiB", (unsigned long long)(bytes / MIB));
    answer_number(time_step(probe, "dwex", 'd', memory, bytes, stream) / fetch, "of that",
                  "the same after a discard on the host");
    answer_number(time_step(probe, "dwx", 'd', memory, bytes, stream) / fetch, "of that",
                  "the same after a discard on the device");
    answer_number(evict * 1e6, "us", "eviction");
    answer_number(time_step(probe, "dwx", 'e', memory, bytes, stream) / evict, "of that",
                  "the same after a discard");
    MUST(cu.cuMemFree(memory));
}

void part_discards(struct probe *probe)
{
    uint64_t bytes = probe->bytes < 96 * MIB ? 8 * MIB : 32 * MIB;
    CUstream stream = stream_new();
    if (!probe->can_discard) {
        answer_text("the driver lacks them", "cuMemDiscardBatchAsync and its neighbour");
        return;
    }
    check_writes(probe, bytes, stream);
    check_order(probe, bytes, true);
    check_order(probe, bytes, false);
    check_neighbours(probe, 2 * MIB, stream);
    look_at_rest(probe, bytes, true, stream);
    look_at_rest(probe, bytes, false, stream);
    measure_savings(probe, bytes, stream);
    check_neighbours(probe, 64 * 1024, stream); /* last: a driver may refuse so small a block */
    MUST(cu.cuStreamDestroy(stream));
}
