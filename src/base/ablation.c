#include "base/ablation.h"

#ifdef SLUICE_TEST_HOOKS
#include "base/options.h"

bool sl_mechanism_works(enum sl_mechanism mechanism)
{
    return !(sl_options_in_force()->test_without >> mechanism & 1);
}
#endif
