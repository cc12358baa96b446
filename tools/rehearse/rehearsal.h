/* Runs a command on the software device, which executes its kernels in part, and ends it after some steps. */
#ifndef SLUICE_TOOL_REHEARSAL_H
#define SLUICE_TOOL_REHEARSAL_H

#include <limits.h>
#include <stdbool.h>

#include "tools/rehearse/cards.h"

enum { REHEARSAL_PROCESSES = 64 };

struct rehearsal_wish {
    const struct card *card;
    uint64_t host_bytes; /* memory of the host; 0: this machine's */
    uint64_t cards;      /* number of them in the machine */
    uint64_t cores;      /* of the host; 0: enough */
    const char *budget;  /* of `sluice run`; NULL: automatic */
    uint64_t steps;      /* the command is ended after so many training steps; 0: it ends by itself */
    char **command;      /* ends with NULL */
};

/* A process of the command that used the device, as it was last seen. */
struct rehearsed {
    uint64_t process, steps;
    uint64_t budget_bytes, need_bytes; /* need: the most that was allocated */
    uint64_t host_bytes, pinned_bytes; /* the most that chunks, and what is pinned for the program, took */
    uint64_t host_limit_bytes;         /* of chunks */
};

struct rehearsal {
    char folder[PATH_MAX];                    /* of the traces; "": there is none */
    struct rehearsed of[REHEARSAL_PROCESSES]; /* by the process, of those that made steps if any did */
    size_t count;
    bool stopped;     /* it was ended */
    bool interrupted; /* by the user */
    int status;       /* of the command, as wait() tells */
    /* In the later half of the run: the processor time of one process's threads that launch kernels, without
     * the software device's part, and the training steps meanwhile. */
    uint64_t program_ns, program_steps;
    uint64_t simulated_ns;   /* meanwhile, by the software device's clock */
    uint64_t processor_ns;   /* of the command and its children */
    uint64_t resident_bytes; /* the most memory of one of its processes */
};

/* Runs the command, and shows on stderr how far it is if that is a terminal. The command's output is its own;
 * its input is empty if it is a terminal. What the user sends this process to end it ends the command.
 * Returns EXIT_OK, or another status after a message; in both cases the caller calls rehearsal_close. One at
 * a time. */
int rehearsal_run(const struct rehearsal_wish *wish, struct rehearsal *out);

/* The path of the trace of process `index`. */
void rehearsal_trace(const struct rehearsal *rehearsal, size_t index, char out[PATH_MAX]);

/* Removes the traces. Accepts a zeroed one. */
void rehearsal_close(struct rehearsal *rehearsal);

#endif
