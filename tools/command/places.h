/* The locations of sluice's parts relative to this command, in the build folder or installed. */
#ifndef SLUICE_PLACES_H
#define SLUICE_PLACES_H

#include <stdbool.h>
#include <stddef.h>

/* The absolute path of libsluice.so, or of the folder with the software device's libcuda.so.1. False, and
 * `out` is unchanged: not found. */
bool find_library(char *out, size_t bytes);
bool find_software_device(char *out, size_t bytes);

/* The same for the folder with the program gpt and its text, for sluice demo. */
bool find_demo(char *out, size_t bytes);

#endif
