/* The backend whose device is a clock (sim_clock.h): addresses are invented, nothing is copied, and how long
 * everything would take is worked out. With it the very core that moves a program's data says what it will do
 * with a trace of the program.
 *
 * There is a host, too, and it is one thread: each call costs it time, and it waits where the program waited.
 * A device that has many launches before it lets it wait.
 *
 * One thread at a time. A slab is never backed by memory; a driver's choice of what to copy is kept: what has
 * no content is not, and neither is what is where it should go.
 */
#ifndef SLUICE_BACKEND_SIM_H
#define SLUICE_BACKEND_SIM_H

#include "device/backend.h"
#include "launch/launch.h"
#include "sim/sim_clock.h"

struct sl_sim_device {
    uint64_t bytes;                           /* device memory */
    uint64_t in_bytes_per_s, out_bytes_per_s; /* not 0 */
    unsigned both_percent;                    /* of its speed that each direction has while both run */
    uint64_t transfer_ns;                     /* what a movement takes before its first byte */
    uint64_t call_ns;                         /* what a call of the driver costs the host */
    bool keeps_copies; /* what is fetched stays good in host memory until it is written */
    uint32_t queue;    /* launches that the device takes before the host has to wait; not 0 */
    bool pages;        /* the driver moves memory: a launch fetches what it uses, at half the link's speed */
    /* Where not NULL: called with what is copied out of the device, in whole blocks, when it is issued. */
    void (*copied_out)(void *context, uint64_t address, uint64_t bytes);
    void *context;
    uint64_t fault_ns; /* and so much for each block */
    bool in_order;     /* what copies or exchanges comes behind what the link was given before */
    const struct sl_sim_meetings
        *meetings; /* with other devices; outlives the backend. NULL: there are none */
};

struct sl_sim_launch {
    sl_stream stream;
    uint64_t took_ns;                   /* where all is on the device */
    uint64_t copied_bytes[SL_SIM_WAYS]; /* over the link, of a copy of the program's own */
    const struct sl_span *spans;        /* what it touches */
    size_t span_count;
    uint32_t meeting;         /* of devices, see sim_clock.h; 0: of no others */
    uint64_t exchanged_bytes; /* with other devices, each way over the link to the host, in took_ns */
};

/* What moved so far, in the order of the calls. */
struct sl_sim_books {
    uint64_t bytes_in, bytes_out; /* by movements */
    uint64_t remote_bytes_used;   /* by launches that used what was not on the device */
    uint64_t faults;              /* blocks that came because they were used; they count as moved */
};

/* SL_ERR_NO_MEMORY. The backend is closed by the core. */
enum sl_status sl_backend_sim_new(const struct sl_sim_device *device, struct sl_backend *out);

/* The program's launch, where its own call of the driver would be: between begin and end. What of it is not
 * on the device is used remotely. */
enum sl_status sl_backend_sim_launch(const struct sl_backend *backend, const struct sl_sim_launch *launch);

/* From here on the stream does nothing before all is done that `other` was given. */
enum sl_status sl_backend_sim_follow(const struct sl_backend *backend, sl_stream stream, sl_stream other);

/* The program waits for what the stream, or every stream, was given. */
enum sl_status sl_backend_sim_finish(const struct sl_backend *backend, sl_stream stream);
enum sl_status sl_backend_sim_finish_all(const struct sl_backend *backend);

/* *mark, which outlives the next wait for all, is written when the stream gets there. */
enum sl_status sl_backend_sim_mark(const struct sl_backend *backend, sl_stream stream,
                                   struct sl_sim_mark *mark);

const struct sl_sim_books *sl_backend_sim_books(const struct sl_backend *backend);

#endif
