/* The table of the captures that have memory. Each access holds its lock; no driver function is called while
 * the lock is held. */
#ifndef SLUICE_SHIM_CAPTURED_TABLE_H
#define SLUICE_SHIM_CAPTURED_TABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "driver_api.h"

struct sl_captured_memory {
    struct sl_captured_memory *next;
    CUdeviceptr address;
    uint64_t bytes;
    bool freed;                  /* by its own graph; the program must not free it */
    unsigned long long freed_by; /* id of the stream in whose order the capture may reuse it; 0: none */
    bool in_use;                 /* a launch allocated it, and it was not freed since */
    CUevent behind; /* recorded after the program's last free of it; the next launch waits for it; or NULL */
};

/* Memory of another capture that this one frees. */
struct sl_freed_elsewhere {
    struct sl_freed_elsewhere *next;
    CUdeviceptr address;
};

struct sl_capture {
    struct sl_capture *next;
    cuuint64_t id;   /* unique among the captures of the process */
    CUgraph graph;   /* the captured one; NULL: it was destroyed */
    uint64_t number; /* of that graph: sl_captured_graph */
    CUuserObject object;
    struct sl_captured_memory *memory;
    struct sl_freed_elsewhere *frees;
    bool over;    /* no graph refers to it */
    bool refused; /* it is not known whether one does */
};

struct sl_captured_table {
    pthread_mutex_t lock;
    struct sl_capture *captures;
    struct sl_map addresses;  /* addresses of all captures' memory; the values are unused */
    uint64_t graphs;          /* captured graphs so far */
    _Atomic bool any;         /* entries exist or existed */
    _Atomic bool any_over;    /* some entries are over */
    _Atomic uint64_t changes; /* counts events after which a launch may have something to mark */
};
extern struct sl_captured_table sl_captured;

/* NULL: it is not captured memory. *owner: the capture. */
struct sl_captured_memory *sl_captured_find(CUdeviceptr address, struct sl_capture **owner);

#endif
