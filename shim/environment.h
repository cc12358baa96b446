/* Additions to the process environment before main, for libraries and children that read it later. */
#ifndef SLUICE_SHIM_ENVIRONMENT_H
#define SLUICE_SHIM_ENVIRONMENT_H

#include <stdbool.h>

/* Puts `entry`, "NAME=VALUE", into the environment and replaces an earlier value; the entry becomes part of
 * the environment. Does not use setenv, because the program may define its own setenv that is not ready yet.
 * Allocates nothing. False: there are too many variables. Precondition: no other thread runs. */
bool sl_environment_put(char *entry);

/* Sets what sluice needs from frameworks (framework.h) that may be loaded later. Same precondition. */
void sl_environment_ask_frameworks(void);

#endif
