#include "base/guards.h"

#ifdef SLUICE_TEST_HOOKS
#include "base/options.h"

bool sl_guard_works(enum sl_guard guard)
{
    return sl_options_in_force()->test_mutant != (int)guard;
}
#endif
