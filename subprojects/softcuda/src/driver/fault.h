/* Fault injection: SOFTCUDA_FAULT makes calls fail that would have succeeded.
 *
 *   rule  = function ":" when ":" error [":caller=" object] [":done"] | "device-lost:after=" N
 *   when  = "after=" N | "every=" N | "once=" N | "p=" X [":seed=" N]
 *
 * Rules are separated by "," or ";". `function` is a name of cuda.h, with or without _v2, _ptsz and the like,
 * which are equivalent; "*" means all functions that need the device. `error` is a name or number of
 * CUresult. `object` is the file name of a shared object or of the program, up to a "."; only calls that
 * return there count. "done": the function does its work before the error is returned. */
#ifndef SOFTCUDA_FAULT_H
#define SOFTCUDA_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"

enum sc_fault_when { SC_FAULT_AFTER, SC_FAULT_EVERY, SC_FAULT_ONCE, SC_FAULT_CHANCE };

struct sc_fault_rule {
    const char *function; /* name of a row of the table (resolve.h); NULL for "*" and for device-lost */
    bool loses_device;
    enum sc_fault_when when;
    uint64_t count; /* N */
    double chance;
    uint64_t seed;
    CUresult error;
    bool done;                  /* the function does its work first */
    char caller[64];            /* the object to which the call returns; "": any */
    atomic_uint_fast64_t calls; /* so far */
    atomic_bool told;
};

struct sc_fault_rules {
    struct sc_fault_rule *list; /* owned */
    size_t count;
    atomic_bool device_lost;
};

/* Parses rules. Logs and skips a rule that does not parse. Returns the number of rules skipped. */
unsigned sc_fault_parse(const char *text, struct sc_fault_rules *out);
void sc_fault_free(struct sc_fault_rules *rules);

/* What happens to a call. gate.S takes it apart. */
struct sc_fault {
    CUresult error; /* that the call returns; CUDA_SUCCESS: none is injected */
    int done;       /* 1: the function does its work first */
};

/* Decides on a call of `function`, a name as cuGetProcAddress takes it, that returns to `caller`. Counts the
 * call. Thread safety: any. */
struct sc_fault sc_fault_decide(struct sc_fault_rules *rules, const char *function, const void *caller);

#endif
