/* Errors on demand: SOFTCUDA_FAULT makes calls fail that would have succeeded.
 *
 *   rule  = function ":" when ":" error | "device-lost:after=" N
 *   when  = "after=" N | "every=" N | "once=" N | "p=" X [":seed=" N]
 *
 * Rules are separated by "," or ";". `function` is a name of cuda.h, with or without _v2, _ptsz and the like,
 * which all mean the same; "*" is all that need the device. `error` is a name or number of CUresult. */
#ifndef SOFTCUDA_FAULT_H
#define SOFTCUDA_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"

enum sc_fault_when { SC_FAULT_AFTER, SC_FAULT_EVERY, SC_FAULT_ONCE, SC_FAULT_CHANCE };

struct sc_fault_rule {
    const char *function; /* a row's name, NULL for "*" and for the loss of the device */
    bool loses_device;
    enum sc_fault_when when;
    uint64_t count; /* N */
    double chance;
    uint64_t seed;
    CUresult error;
    atomic_uint_fast64_t calls; /* so far */
    atomic_bool told;
};

struct sc_fault_rules {
    struct sc_fault_rule *list; /* owned */
    size_t count;
    atomic_bool device_lost;
};

/* Reads rules; one that is not understood is logged and left out. Returns the number of those. */
unsigned sc_fault_parse(const char *text, struct sc_fault_rules *out);
void sc_fault_free(struct sc_fault_rules *rules);

/* What a call of `function`, a name as cuGetProcAddress takes it, has to return; CUDA_SUCCESS: what it would
 * anyway. Counts the call. Thread safety: any. */
CUresult sc_fault_decide(struct sc_fault_rules *rules, const char *function);

#endif
