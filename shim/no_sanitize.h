/* For code that may run before a sanitizer's runtime is initialized: the runtime itself calls dlsym. */
#ifndef SLUICE_SHIM_NO_SANITIZE_H
#define SLUICE_SHIM_NO_SANITIZE_H

#ifdef __clang__
#define SL_NO_SANITIZE __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define SL_NO_SANITIZE __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))
#endif

#endif
