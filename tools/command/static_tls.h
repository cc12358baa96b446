/* Room for thread-local storage under an audit library. While there is one, the dynamic linker of glibc
 * decides how much static storage threads have before it loads libraries. Allocators and sanitizers that are
 * preloaded or linked need some, and without room the program does not start. */
#ifndef SLUICE_STATIC_TLS_H
#define SLUICE_STATIC_TLS_H

#include "tools/command/executable.h"

/* Sets GLIBC_TUNABLES for what the program and LD_PRELOAD load, which the dynamic linker lists; nothing of
 * the program is executed. Call it when the environment is complete but for LD_AUDIT. EXIT_OK, or the status
 * of an error that was reported. */
int static_tls_make_room(const struct executable *executable);

#endif
