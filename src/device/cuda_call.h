/* How sluice calls the driver for itself: in its own context, beside what the program captures, and never
 * cancelled in the middle. */
#ifndef SLUICE_CUDA_CALL_H
#define SLUICE_CUDA_CALL_H

#include <pthread.h>
#include <stdint.h>

#include "base/types.h"
#include "device/backend.h"
#include "device/cuda_driver.h"

struct sl_cuda_slab;

/* A backend on the driver. */
struct sl_cuda {
    const struct sl_cuda_driver *driver;
    CUcontext context;
    CUdevice device;
    bool moves; /* its memory moves between device and host */
    CUstream in, out;
    _Atomic int host_node;      /* nearest to the device, if there are several; or -1 */
    struct sl_cuda_slab *slabs; /* these two belong to cuda_slabs.c */
    struct sl_cuda *next;
};

/* A driver that refuses what costs nothing is asked so often. */
enum { SL_CUDA_TRIES = 8 };

/* Whether the context, or the driver, gives this answer to every call from now on. Any other error concerns
 * the call alone. */
bool sl_cuda_error_lasts(CUresult result);

/* The status of a driver call named `what`. Logs an error; a lasting one is the program's own, and it learns
 * of it from its own calls: SL_ERR_LOST, without a warning. Thread-safe. */
enum sl_status sl_cuda_judge(const struct sl_cuda_driver *driver, CUresult result, const char *what);

/* Sets the calling thread's capture mode. *before: the one it had, if the driver takes the new one. */
CUresult sl_cuda_set_capture_mode(const struct sl_cuda_driver *driver, CUstreamCaptureMode mode,
                                  CUstreamCaptureMode *before);

/* Default streams and new objects belong to the current context, which may be another device's if there are
 * several. */
enum sl_cuda_entry { SL_CUDA_STAYED, SL_CUDA_ENTERED, SL_CUDA_REFUSED };

/* From here on more than one backend may exist. Thread-safe. */
void sl_cuda_are_several(void);

/* Makes the backend's context current, if another may be. Each needs a sl_cuda_leave. */
enum sl_cuda_entry sl_cuda_enter(const struct sl_cuda *cuda);
enum sl_cuda_entry sl_cuda_enter_for(const struct sl_cuda *cuda, CUstream stream);
void sl_cuda_leave(const struct sl_cuda *cuda, enum sl_cuda_entry entry);

/* Our locks are held around driver calls, which may contain cancellation points: a thread that the program
 * cancels must not end there. */
#define SL_UNCANCELLED(call)                                                                                 \
    ({                                                                                                       \
        int cancel_state_;                                                                                   \
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);                                      \
        __typeof__(call) result_ = (call);                                                                   \
        pthread_setcancelstate(cancel_state_, NULL);                                                         \
        result_;                                                                                             \
    })

/* A call that the driver forbids while a graph is captured, by this thread or, in global mode, by another: it
 * would fail and end the capture. The relaxed mode prevents this; it is safe because the call concerns
 * nothing captured. Where the driver refuses the mode, the call is not made. */
#define SL_BESIDE_CAPTURES(driver, call)                                                                     \
    SL_UNCANCELLED(({                                                                                        \
        CUstreamCaptureMode before_;                                                                         \
        CUresult beside_ = sl_cuda_set_capture_mode(driver, CU_STREAM_CAPTURE_MODE_RELAXED, &before_);       \
        if (beside_ == CUDA_SUCCESS) {                                                                       \
            beside_ = (call);                                                                                \
            sl_cuda_set_capture_mode(driver, before_, &before_);                                             \
        }                                                                                                    \
        beside_;                                                                                             \
    }))

/* The driver's answer to a call in the backend's context. `how`: a call of sl_cuda_enter. */
#define SL_IN_CONTEXT(cuda, how, call)                                                                       \
    ({                                                                                                       \
        enum sl_cuda_entry entered_ = (how);                                                                 \
        CUresult inside_ = entered_ == SL_CUDA_REFUSED ? CUDA_ERROR_INVALID_CONTEXT : (call);                \
        sl_cuda_leave(cuda, entered_);                                                                       \
        inside_;                                                                                             \
    })

/* A call that may be made twice is made again while it is refused, unless the device is lost: a refusal now
 * and then is invisible. The driver's last answer. */
#define SL_PERSIST(call)                                                                                     \
    ({                                                                                                       \
        CUresult persisted_;                                                                                 \
        int tries_ = SL_CUDA_TRIES;                                                                          \
        do persisted_ = (call);                                                                              \
        while (persisted_ != CUDA_SUCCESS && !sl_cuda_error_lasts(persisted_) && --tries_ > 0);              \
        persisted_;                                                                                          \
    })

#define SL_CUDA_CHECK(cuda, call, what) sl_cuda_judge((cuda)->driver, SL_UNCANCELLED(call), what)

/* Whether the stream captures. Yes also where the stream cannot be used beside another stream's capture.
 * Unknown: two functions of the driver refused several times, or the handle is not valid; *refused, which may
 * be NULL, is then the driver's status. Any thread. */
struct sl_answer sl_cuda_capturing(const struct sl_cuda_driver *driver, CUstream stream, CUresult *refused);

/* --- cuda_slabs.c: the memory of the backends on the driver: slabs of unified memory, which every device of
 * the process may touch, and pinned host memory. */

/* Where the backend's memory is at home, and where the device uses it. */
CUmemLocation sl_cuda_host(const struct sl_cuda *cuda);
CUmemLocation sl_cuda_device(const struct sl_cuda *cuda);

/* Called when the driver refused `to`. If `to` is a node, falls back to any host memory from here on. False:
 * there is nothing else to try. Thread-safe. */
bool sl_cuda_leaves_node(struct sl_cuda *cuda, CUmemLocation *to);

/* The functions slab_new to pinned_delete of struct sl_backend, whose `self` is a struct sl_cuda. */
enum sl_status sl_cuda_slab_new(void *self, uint64_t bytes, uint64_t *address);
void sl_cuda_slab_delete(void *self, uint64_t address, uint64_t bytes);
enum sl_status sl_cuda_pinned_new(void *self, uint64_t bytes, uint64_t *address);
void sl_cuda_pinned_delete(void *self, uint64_t address, uint64_t bytes);

/* From here on the backend's device may touch the other backends' slabs, and theirs its. Thread-safe. */
void sl_cuda_join(struct sl_cuda *cuda);

/* The function lost of struct sl_backend; also called before the backend is freed. Accepts one that did not
 * join. Thread-safe. */
void sl_cuda_part(void *self);

/* The NUMA node nearest to the device, from the driver or else from the kernel; -1: neither knows it. Also -1
 * if the host has one node (`several` is false). But a node above 0 from the driver is returned in any case.
 */
int sl_host_node_nearest(int driver_says, int kernel_says, bool several);

/* Makes the kernel prefer the node for new pages of [address, address + bytes), whole pages, while it has
 * room. Does nothing for -1. False: the kernel refuses, and places pages as it likes. Thread-safe. */
bool sl_host_node_prefer(uint64_t address, uint64_t bytes, int node);

/* Reserves host memory for a pinned slab: `bytes` bytes, whole pages, from a multiple of 1 GiB on; the rest
 * of their last GiB is reserved too, and inaccessible. A child after fork does not have them. Thread-safe.
 * SL_ERR_NO_MEMORY. */
enum sl_status sl_reserve(uint64_t bytes, uint64_t *address);
void sl_unreserve(uint64_t address, uint64_t bytes);

#endif
