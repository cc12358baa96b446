/* Which driver this libcuda.so.1 is. There is one library for all drivers of today, and one for each older
 * driver, which exports only what that driver has: programs that look functions up by dlsym ask no options.
 */
#ifndef SOFTCUDA_DEFAULT_DRIVER_H
#define SOFTCUDA_DEFAULT_DRIVER_H

/* A name of drivers.def: what is simulated where SOFTCUDA_DRIVER is not set. The library cannot be a driver
 * of a later version. */
extern const char sc_default_driver[];

#endif
