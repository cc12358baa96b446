/* The environment of the process, which its libraries and children read later: added to before main. */
#ifndef SLUICE_SHIM_ENVIRONMENT_H
#define SLUICE_SHIM_ENVIRONMENT_H

#include <stdbool.h>

/* Puts `entry`, "NAME=VALUE", into the environment in place of what it has of that name; the entry is part of
 * it from then on. Not by setenv, which a program may have its own of that is not ready yet; allocates
 * nothing. False: there are too many variables. pre: no other thread runs. */
bool sl_environment_put(char *entry);

/* Asks frameworks for what sluice needs (framework.h), where they may be loaded later. The same. */
void sl_environment_ask_frameworks(void);

#endif
