/* Kinds of files that we write. An existing file is replaced only if it is empty or its first bytes show the
 * same kind. Pipes and devices hold nothing that could be lost. */
#ifndef SLUICE_FILE_KIND_H
#define SLUICE_FILE_KIND_H

#include "base/types.h"

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

#endif
