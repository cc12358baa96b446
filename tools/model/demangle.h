/* Demangled C++ names. */
#ifndef SLUICE_TOOL_DEMANGLE_H
#define SLUICE_TOOL_DEMANGLE_H

/* The demangled name, or NULL if it is not a C++ name or this machine has no C++ library. The caller frees
 * it. Not thread-safe. */
char *demangle(const char *name);

#endif
