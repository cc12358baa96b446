/* Where the parts of sluice lie, seen from this command: in the build folder or installed. */
#ifndef SLUICE_PLACES_H
#define SLUICE_PLACES_H

#include <stdbool.h>
#include <stddef.h>

/* The absolute path of libsluice.so, or of the folder with the software device's libcuda.so.1. False if it is
 * in none of the places; `out` is unchanged then. */
bool find_library(char *out, size_t bytes);
bool find_software_device(char *out, size_t bytes);

#endif
