/* A small profile with something of everything. */
#ifndef SLUICE_TEST_PROFILE_SAMPLE_H
#define SLUICE_TEST_PROFILE_SAMPLE_H

#include "profile/profile.h"

/* To be freed with sl_profile_free. */
struct sl_profile profile_sample(void);

#endif
