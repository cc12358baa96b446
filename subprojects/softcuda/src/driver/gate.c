/* Fault injection for the stubs of gate.S. */
#include <pthread.h>

#include "fault.h"
#include "options.h"

static const char *const rows[] = {
#define SC_API(name, symbol, version, streams) #name,
#include "api_built.def"
#include "api_refused.def"
#undef SC_API
};

static struct sc_fault_rules rules;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Called from gate.S. The first call of any function reads the rules; if there are none, later calls skip
 * this function. */
extern bool sc_gate_guarded;
struct sc_fault sc_gate_decide(unsigned row, const void *caller);
bool sc_gate_guarded = true;

static void read_rules(void)
{
    sc_fault_parse(sc_options()->fault, &rules);
    __atomic_store_n(&sc_gate_guarded, rules.count != 0, __ATOMIC_RELAXED);
}

struct sc_fault sc_gate_decide(unsigned row, const void *caller)
{
    pthread_once(&once, read_rules);
    return rules.count ? sc_fault_decide(&rules, rows[row], caller) : (struct sc_fault){CUDA_SUCCESS, 0};
}
