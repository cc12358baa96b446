/* The findings of `sluice doctor`. */
#ifndef SLUICE_DOCTOR_H
#define SLUICE_DOCTOR_H

#include <stdbool.h>

enum verdict {
    VERDICT_OK,
    VERDICT_NOTE,   /* works, but less well, or not for everyone */
    VERDICT_BROKEN, /* sluice cannot work */
};

struct findings {
    bool broken;
    char reason[256]; /* the first that broke it */
};

/* Prints one aligned line and remembers the first VERDICT_BROKEN. */
void find(struct findings *findings, enum verdict verdict, const char *subject, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The driver, its devices and features. `path`: of libcuda.so.1, or its name to search for. */
void examine_driver(struct findings *findings, const char *path);

/* Memory limits of this machine and this process. */
void examine_host(struct findings *findings);

/* What the environment says to PyTorch's allocator. */
void examine_framework(struct findings *findings);

/* Whether a program starts with libsluice.so preloaded. */
void examine_library(struct findings *findings);

#endif
