/* What writes traces, and reads and writes profiles: files and their compression. libsluice.so has it in an
 * object of its own beside it, libsluice-record.so, which is loaded where a trace or a profile is wanted of a
 * program that uses CUDA (shim/recording.c); what else has a core has it within (recording.c). */
#ifndef SLUICE_RECORDING_H
#define SLUICE_RECORDING_H

#include "base/options.h"
#include "trace/trace_sink.h"

struct sl_profile;

struct sl_recording {
    /* Of the build that it is from: an object of another one is not used. */
    const char *version;
    size_t event_bytes, sink_bytes, profile_bytes;

    /* Its log, and which files it may replace. Once, before anything else. */
    void (*begin)(const struct sl_options *options);

    /* Both keep the program's command line, without what looks like a secret (base/text.h). */
    void (*mask_command)(const char *arguments, size_t bytes, bool mask, char *out, size_t room);

    const struct sl_file_kind *trace_kind;
    enum sl_status (*sink_open)(struct sl_trace_sink *sink, const char *path, uint64_t limit_bytes);
    void (*sink_add)(struct sl_trace_sink *sink, uint32_t thread, const struct sl_event *event);
    void (*sink_begin_group)(struct sl_trace_sink *sink);
    void (*sink_flush)(struct sl_trace_sink *sink, uint32_t thread);
    void (*sink_close)(struct sl_trace_sink *sink);

    enum sl_status (*profile_read)(const char *path, struct sl_profile *out, bool *is_one);
    enum sl_status (*profile_write)(const char *path, const struct sl_profile *profile);
};

/* The name under which libsluice-record.so shows it. */
#define SL_RECORDING_SYMBOL "sluice_recording"

/* Where a trace or a profile is wanted: begins to load it, in a thread of ours, as a call of the program may
 * hold locks. Called when the driver is found; does nothing later. Any thread. */
void sl_recording_begin(void);

/* Waits for that a moment. NULL: it is not there, and *why (may be NULL) says the reason. Any thread. */
const struct sl_recording *sl_recording(const char **why);

/* In the child after fork, which has no thread that loads. */
void sl_recording_after_fork(void);

#endif
