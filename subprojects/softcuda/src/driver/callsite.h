/* The program's call site of an API call: the return addresses outside of this library. Each site is stored
 * once. */
#ifndef SOFTCUDA_CALLSITE_H
#define SOFTCUDA_CALLSITE_H

#include <stddef.h>

#define SC_SITE_FRAMES 8

struct sc_site {
    struct sc_site *next;
    unsigned long hash;
    int count;
    void *frames[SC_SITE_FRAMES]; /* the innermost first */
};

/* Loads the unwinder, so that the first stack walk does not have to. */
void sc_site_init(void);

/* The site of the API call that the calling thread is in. Equal sites give equal pointers, valid for ever.
 * NULL: no memory, or too many sites. pre: the driver's lock is held. */
const struct sc_site *sc_site_here(void);

/* Writes "object+offset (function+offset)" for the innermost frames outside of the Runtime API and cuBLAS,
 * separated by " < ". `site` may be NULL. */
void sc_site_print(const struct sc_site *site, char *out, size_t out_bytes);

#endif
