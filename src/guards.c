#include "guards.h"

#ifdef SLUICE_TEST_HOOKS
#include "runtime.h"

bool sl_guard_works(enum sl_guard guard)
{
    return sl_runtime_options()->test_mutant != (int)guard;
}
#endif
