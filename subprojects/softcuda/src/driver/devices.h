/* The machine's devices, as this process sees them: SOFTCUDA_DEVICES are alike, and CUDA_VISIBLE_DEVICES
 * chooses among them. Each has memory, engines and a link of its own.
 *
 * pre: the driver's lock is held, but for sc_devices_open, sc_device_at and sc_device_count. */
#ifndef SOFTCUDA_DEVICES_H
#define SOFTCUDA_DEVICES_H

#include "api.h"
#include "timing.h"

#define SC_DEVICES 16
#define SC_FOLD_AT 65536

struct sc_context;
struct sc_pool;

/* Memory of graphs. */
struct sc_graph_bytes {
    uint64_t used, used_high, reserved, reserved_high;
};

struct sc_device {
    int ordinal;  /* as all functions count */
    int physical; /* as the machine does */
    uint64_t charged_bytes;
    struct sc_timing timing;
    struct sc_context *primary; /* NULL: not active */
    unsigned primary_flags;
    struct sc_pool *default_pool, *pool; /* `pool` NULL: the default one */
    struct sc_graph_bytes graph;
    size_t fold_at; /* changes of the footprint, from which on it is made smaller */
    bool used;      /* there was a context */
};

void sc_devices_open(void);
int sc_device_count(void);
struct sc_device *sc_device_at(CUdevice ordinal); /* NULL: there is none */

/* How many of the machine's devices share this one's link to the host, itself included. */
unsigned sc_devices_of_link(int physical);
/* Which of the root's ports that link is. */
int sc_device_root_port(int physical);
/* Where the device is on the PCI bus, in domain 0 and as device 0. */
#define SC_BUS(physical) ((physical) + 1)

/* Whether one may access the other's memory. Both are different. */
bool sc_device_reaches(const struct sc_device *device, const struct sc_device *peer);

/* The list in CUDA_VISIBLE_DEVICES, numbers or the beginnings of UUIDs, up to the first that is not a device:
 * physical numbers. NULL is all of them. Returns how many. */
int sc_devices_choose(const char *list, int there, int out[SC_DEVICES]);
void sc_device_uuid(int physical, char out[16]);

#endif
