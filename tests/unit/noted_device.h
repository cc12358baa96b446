/* A device that does nothing but note what it is asked for. An event on it is done when the test says so, and
 * it refuses what the test wants it to. */
#ifndef SLUICE_TEST_NOTED_DEVICE_H
#define SLUICE_TEST_NOTED_DEVICE_H

#include "device/backend.h"

enum { NOTED_WAITS = 1024 };

struct noted_event {
    uint64_t recorded; /* the number of its last record, among all records; 0: never recorded */
    sl_stream stream;  /* that it was recorded on */
    uint64_t time_ns;  /* what the device's clock said then */
    bool timed, done;
};

struct noted_device {
    struct sl_backend backend;
    int in, out; /* their addresses are the streams of ours */
    /* So far; several threads may ask at once. */
    _Atomic uint64_t made, deleted, records, questions, movements;
    struct noted_wait {
        sl_stream stream;
        bool by_host; /* not by the stream */
        const struct noted_event *event;
    } waits[NOTED_WAITS];
    _Atomic uint32_t wait_count;
    uint64_t now_ns;           /* its clock; the test sets it */
    struct noted_event *last;  /* that was recorded */
    sl_stream finished;        /* the stream that the host waited for last; NULL: none */
    _Atomic uint64_t finishes; /* how often it waited for a stream */
    sl_stream capturing;       /* the one that captures; NULL: none */
    uint64_t events_left;      /* that it has yet to give */
    _Atomic uint64_t streams_made, streams_deleted;
    bool refuses_streams;
    bool refuses_records, refuses_waits, refuses_finishing;
    bool says_nothing;        /* to questions */
    void (*recording)(void);  /* called before each record; or NULL */
    enum sl_status slabs_are; /* SL_OK, or why there are no more of them */
    uint64_t next_slab, slab_bytes, pinned_bytes;
};

/* Zeroed, with events and slabs as many as are wanted. */
void noted_device_begin(struct noted_device *device);

static inline const struct noted_event *noted_event(sl_event_handle event)
{
    return event;
}

/* How often a stream waited for the event, or the host did. */
uint32_t noted_stream_waits(const struct noted_device *device, sl_stream stream, sl_event_handle event);
uint32_t noted_host_waits(const struct noted_device *device, sl_event_handle event);

#endif
