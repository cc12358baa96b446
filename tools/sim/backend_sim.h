/* A backend whose device is a clock (sim_clock.h): addresses are invented, nothing is copied, and all
 * durations are computed. It lets the production core predict its behaviour on a trace of a program.
 *
 * The host is simulated too, as one thread: each call costs it time, and it waits where the program waited
 * and while the device's launch queue is full.
 *
 * One thread at a time. No memory backs a slab. As in a driver, only blocks are copied that have content and
 * are not already at their destination.
 */
#ifndef SLUICE_BACKEND_SIM_H
#define SLUICE_BACKEND_SIM_H

#include "device/backend.h"
#include "launch/launch.h"
#include "tools/sim/sim_driver.h"

struct sl_sim_device {
    uint64_t bytes;                           /* device memory */
    uint64_t memory_bytes_per_s;              /* its speed; 0: unknown */
    uint64_t in_bytes_per_s, out_bytes_per_s; /* not 0 */
    struct sl_sim_driver driver;
    uint64_t transfer_ns; /* latency of a movement before its first byte */
    uint64_t call_ns;     /* host time of a driver call */
    uint64_t launch_ns;   /* host time from one launch to the next; at least a call's */
    uint32_t queue;       /* launches that the device queues before the host has to wait; not 0 */
    bool daemon;          /* a thread of sluice's own moves memory: no call holds up the program */
    bool pages; /* the driver moves memory: a launch fetches what it uses, at half the link's speed */
    /* If not NULL: called with whole blocks that are copied out of the device, when the copy is issued. */
    void (*copied_out)(void *context, uint64_t address, uint64_t bytes);
    void *context;
    uint64_t fault_ns;      /* with `pages`: additional time for each block */
    bool in_order;          /* copies and exchanges wait for everything that the link was given before */
    double first_plan_late; /* as in struct sl_backend */
    const struct sl_sim_meetings *meetings; /* with other devices; outlives the backend. NULL: none */
};

struct sl_sim_launch {
    sl_stream stream;
    uint64_t took_ns;                   /* if everything is on the device */
    uint64_t copied_bytes[SL_SIM_WAYS]; /* over the link, by a copy of the program's own */
    const struct sl_span *spans;        /* the memory that it touches */
    size_t span_count;
    double reads;             /* times that it reads what is not on the device over the link; 0: once */
    uint32_t meeting;         /* of devices, see sim_clock.h; 0: of no others */
    uint64_t exchanged_bytes; /* with other devices, each way over the link to the host, within took_ns */
};

/* Movements so far, in the order of the calls. */
struct sl_sim_books {
    uint64_t bytes_in, bytes_out; /* by movements */
    uint64_t remote_bytes_used;   /* by launches that used memory not on the device */
    uint64_t faults;              /* blocks fetched because they were used; they count as moved */
};

/* SL_ERR_NO_MEMORY. The core closes the backend. */
enum sl_status sl_backend_sim_new(const struct sl_sim_device *device, struct sl_backend *out);

/* Runs a launch of the program, between begin and end, in place of the driver call. Memory that is not on the
 * device is used remotely. */
enum sl_status sl_backend_sim_launch(const struct sl_backend *backend, const struct sl_sim_launch *launch);

/* Makes later work of the stream wait for all work that `other` was given so far. */
enum sl_status sl_backend_sim_follow(const struct sl_backend *backend, sl_stream stream, sl_stream other);

/* The program waits for the work of the stream, or of every stream. */
enum sl_status sl_backend_sim_finish(const struct sl_backend *backend, sl_stream stream);
enum sl_status sl_backend_sim_finish_all(const struct sl_backend *backend);

/* Writes *mark when the stream gets there. *mark must live until the next wait for all. */
enum sl_status sl_backend_sim_mark(const struct sl_backend *backend, sl_stream stream,
                                   struct sl_sim_mark *mark);

const struct sl_sim_books *sl_backend_sim_books(const struct sl_backend *backend);

#endif
