/* The machine's devices, as this process sees them: SOFTCUDA_DEVICES equal ones, of which
 * CUDA_VISIBLE_DEVICES selects some. Each has its own memory, engines and link.
 *
 * pre: the driver's lock is held, except for sc_devices_open, sc_device_at and sc_device_count. */
#ifndef SOFTCUDA_DEVICES_H
#define SOFTCUDA_DEVICES_H

#include "api.h"
#include "timing.h"

#define SC_DEVICES 16
#define SC_FOLD_AT 65536

struct sc_context;
struct sc_pool;

/* Memory of graphs, in bytes. */
struct sc_graph_bytes {
    uint64_t used, used_high, reserved, reserved_high;
};

struct sc_device {
    int ordinal;  /* the process's number of the device, which all functions use */
    int physical; /* the machine's number of the device */
    uint64_t charged_bytes;
    struct sc_timing timing;
    struct sc_context *primary; /* NULL: not active */
    unsigned primary_flags;
    struct sc_pool *default_pool, *pool; /* `pool` NULL: the default one */
    struct sc_graph_bytes graph;
    size_t fold_at; /* number of footprint changes at which the footprint is folded (footprint.h) */
    bool used;      /* a context was created on it */
};

void sc_devices_open(void);
int sc_device_count(void);
struct sc_device *sc_device_at(CUdevice ordinal); /* NULL: there is none */

/* The number of the machine's devices that share this device's link to the host, itself included. */
unsigned sc_devices_of_link(int physical);
/* The root port that this link is attached to. */
int sc_device_root_port(int physical);
/* The device's PCI bus number; its PCI domain and device number are 0. */
#define SC_BUS(physical) ((physical) + 1)

/* Whether one device may access the other's memory. pre: they are different devices. */
bool sc_device_reaches(const struct sc_device *device, const struct sc_device *peer);

/* Parses CUDA_VISIBLE_DEVICES, a list of numbers or prefixes of UUIDs, up to the first entry that is not a
 * device. Writes physical numbers and returns how many. `list` NULL selects all `there` devices. */
int sc_devices_choose(const char *list, int there, int out[SC_DEVICES]);
void sc_device_uuid(int physical, char out[16]);

#endif
