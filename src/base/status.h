/* The result of a function. */
#ifndef SLUICE_STATUS_H
#define SLUICE_STATUS_H

enum sl_status {
    SL_OK = 0,
    SL_ERR_NO_MEMORY,   /* host or virtual device memory is exhausted */
    SL_ERR_INVALID,     /* an argument, or an address that is not ours */
    SL_ERR_UNSUPPORTED, /* the driver or the device cannot do it */
    SL_ERR_DRIVER,      /* a driver call failed; logged where it happened */
    SL_ERR_IO,          /* a file or a thread; errno was logged */
    SL_ERR_FORMAT,      /* a file from outside is not what it claims */
    SL_ERR_VERSION,     /* a file from a newer sluice */
    SL_ERR_TRUNCATED,   /* a file ends early; the part before is valid */
    SL_ERR_LOST,        /* the driver or the context fails every call from now on; the program learns of it */
};

/* A short lower-case phrase for a status, never NULL. */
const char *sl_status_text(enum sl_status status);

#endif
