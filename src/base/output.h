/* Files that sluice writes from inside a user's program. */
#ifndef SLUICE_OUTPUT_H
#define SLUICE_OUTPUT_H

#include <sys/types.h>

#include "base/types.h"

/* Kinds of files that we write. An existing file is replaced only if it is empty or its first bytes show the
 * same kind. Pipes and devices hold nothing that could be lost. */
struct sl_file_kind {
    const char *refusal; /* why another file is not replaced; ends a sentence */
    const void *marker;  /* in the first SL_MARKER_WITHIN bytes of each such file */
    size_t marker_bytes;
};
#define SL_MARKER_WITHIN 256
#define SL_FILE_KIND(what, marker_)                                                                          \
    {                                                                                                        \
        "there is a file that is " what ", which SLUICE_OVERWRITE=1 or --force would replace", marker_,      \
            sizeof(marker_) - 1                                                                              \
    }

/* Allows every file to be replaced, or not. */
void sl_file_overwrite(bool allowed);
bool sl_file_overwrites(void);

/* Whether the open, readable file may be replaced. False sets errno; EEXIST: it is of another kind. */
bool sl_file_replaceable(int fd, const struct sl_file_kind *kind);

/* The same for the file at `path`, which need not exist. */
bool sl_file_path_replaceable(const char *path, const struct sl_file_kind *kind);

/* A text for the errno `error` of a failed write to a file of this kind. */
const char *sl_file_problem(const struct sl_file_kind *kind, int error);

/* One of our files and its identity. A program that closes all its descriptors (daemons do) may get the same
 * number for a file of its own, which must not receive our bytes. */
struct sl_output {
    int fd; /* -1: none */
    uint64_t device, inode;
};

/* Opens `path` for writing, mode 0600 if it is new: truncated and locked until it is closed, or for appending
 * (`kind` is NULL). Never through a symbolic link; never an existing file of another user or with other names
 * (EPERM) or of another kind (EEXIST); never a pipe or socket (whose reader could block or end the program);
 * never as descriptor 0, 1 or 2. On SL_ERR_IO errno says why, see sl_file_problem, and *out is unchanged;
 * EWOULDBLOCK: another process has it locked. */
enum sl_status sl_output_open(const char *path, const struct sl_file_kind *kind, struct sl_output *out);

/* Whether sl_output_replace could do without what is at `path`. False: errno says why, as below. */
bool sl_output_allowed(const char *path, const struct sl_file_kind *kind);

/* Replaces `path` by a complete file, or leaves the old file unchanged. Mode 0600; never through a symbolic
 * link, and only in place of a plain file of the same user and kind without other names (EPERM, EINVAL,
 * EEXIST). A device gets the bytes. On SL_ERR_IO errno says why. */
enum sl_status sl_output_replace(const char *path, const struct sl_file_kind *kind, const void *bytes,
                                 size_t count);

/* Whether the descriptor still refers to our file. */
bool sl_output_valid(const struct sl_output *output);

/* Like write(), but raises no signal, see base/signals.h. Any thread. */
ssize_t sl_output_put(int fd, const void *bytes, size_t count);

/* Writes all of it at offset `at`, raising no signal. False with errno; also if `fd` is -1. */
bool sl_output_put_at(int fd, const void *bytes, size_t count, off_t at);

/* `fd` if it is above the standard descriptors; else a duplicate that is, and `fd` is closed. -1 with errno;
 * accepts -1. */
int sl_output_above_standard(int fd);

/* Writes everything, or returns SL_ERR_IO with errno. Precondition: sl_output_valid(output). */
enum sl_status sl_output_write(const struct sl_output *output, const void *bytes, size_t count);

/* Closes the file if it is still ours. Accepts one that is not open. Keeps errno. */
void sl_output_close(struct sl_output *output);

#endif
