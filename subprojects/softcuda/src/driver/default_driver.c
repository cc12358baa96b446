#include "default_driver.h"

/* The library of an older driver is linked with another object of this source. */
#ifndef SC_DEFAULT_DRIVER
#define SC_DEFAULT_DRIVER "580"
#endif

const char sc_default_driver[] = SC_DEFAULT_DRIVER;
