#include "base/options.h"
#include "base/test_hooks.h"

bool sl_guard_works(enum sl_guard guard)
{
    return sl_options_in_force()->test_mutant != (int)guard;
}

bool sl_mechanism_works(enum sl_mechanism mechanism)
{
    return !(sl_options_in_force()->test_without >> mechanism & 1);
}
