/* The findings of `sluice doctor`. */
#ifndef SLUICE_DOCTOR_H
#define SLUICE_DOCTOR_H

#include <stdbool.h>

#include "tools/text/json.h"

enum verdict {
    VERDICT_OK,
    VERDICT_NOTE,   /* works with restrictions */
    VERDICT_BROKEN, /* sluice cannot work */
};

struct findings {
    struct json *json; /* NULL: findings are printed as text */
    bool broken;
    char reason[256]; /* of the first VERDICT_BROKEN */
};

/* Prints one aligned line, or a JSON object, and remembers the first VERDICT_BROKEN. */
void find(struct findings *findings, enum verdict verdict, const char *subject, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Examines the driver, its devices and features. `path`: of libcuda.so.1, or its name for a search. */
void examine_driver(struct findings *findings, const char *path);

/* Examines the memory limits of this machine and this process. */
void examine_host(struct findings *findings);

/* Examines the system that the driver runs in. `root`: "", or a folder that stands for the root folder.
 * `software`: only what matters to the software device as well. */
void examine_system(struct findings *findings, const char *root, bool software);

/* Examines whether libsluice.so can be preloaded into the command. */
void examine_program(struct findings *findings, const char *command);

/* Examines the settings of PyTorch's allocator in the environment. */
void examine_framework(struct findings *findings);

/* Examines whether a program starts with libsluice.so preloaded. */
void examine_library(struct findings *findings);

#endif
