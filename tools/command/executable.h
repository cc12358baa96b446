/* What the dynamic linker will do with a command, as far as its file tells. */
#ifndef SLUICE_EXECUTABLE_H
#define SLUICE_EXECUTABLE_H

#include <limits.h>
#include <stdbool.h>

struct executable {
    char
        path[PATH_MAX]; /* the program that the kernel will load, for a script its interpreter; "": unknown */
    char loader[256];   /* its dynamic linker; "": none, or unknown */
    /* The runtime of AddressSanitizer, which has to be loaded before all other libraries; "": it needs none.
     */
    char first[64];
    /* Why nothing can be preloaded: a predicate for a message that begins with the command's name. NULL: no
     * obstacle is known, as for scripts and unreadable files. */
    const char *obstacle;
    bool is_musl; /* with libsluice.so preloaded it would not start */
};

/* Reads what is known of `command`, which is searched for in PATH as by execvp. Trusts nothing in the file.
 */
void executable_read(const char *command, struct executable *out);

/* Writes the path of the file that execvp would run. False: there is none. */
bool executable_find(const char *command, char path[PATH_MAX]);

/* Whether a library of this name is such a runtime of AddressSanitizer. */
bool executable_comes_first(const char *library);

#endif
