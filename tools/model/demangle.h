/* C++ names for people. */
#ifndef SLUICE_TOOL_DEMANGLE_H
#define SLUICE_TOOL_DEMANGLE_H

/* The name as a C++ programmer writes it, to be released with free(). NULL where it is none of C++'s, or
 * where this machine has no C++ library, which knows how. Not thread-safe. */
char *demangle(const char *name);

#endif
