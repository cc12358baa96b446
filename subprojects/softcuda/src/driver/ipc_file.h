/* Device memory and events that this process shares with processes that open its handles (cuIpcGetMemHandle).
 *
 * All of it is in one memory file: a head with the interprocess events, and behind it device memory, each
 * page at its place in the window's region. Another process opens the file in /proc by this process's number
 * and the descriptor's number, so only the same user can, the file has no name, and nothing remains after
 * exit. A handle holds a random key that the file's head repeats, because process numbers are reused.
 *
 * The contents of a handle, and of another process's file, are not trusted.
 *
 * pre: the driver's lock is held. */
#ifndef SOFTCUDA_IPC_FILE_H
#define SOFTCUDA_IPC_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define SC_IPC_HEAD_BYTES (UINT64_C(1) << 20)

/* Identifies a process's file; part of every handle. */
struct sc_ipc_name {
    uint64_t magic, key;
    int32_t process, file;
};

struct sc_ipc_file {
    struct sc_ipc_name name;
    int file;
    void *head; /* SC_IPC_HEAD_BYTES, shared */
    uint64_t bytes;
};

/* This process's file, created at the first call. NULL: the system refuses. */
struct sc_ipc_file *sc_ipc_file_own(void);

/* Opens another process's file, until sc_ipc_file_close. false: there is no file with this name. */
bool sc_ipc_file_open(const struct sc_ipc_name *name, struct sc_ipc_file *out);
void sc_ipc_file_close(struct sc_ipc_file *other);

/* Moves the pages of [begin, end), with their contents, into this process's file, at [begin - base +
 * SC_IPC_HEAD_BYTES, ...). false: the system refuses; nothing changed. pre: whole pages, which no thread uses
 * during the call. */
bool sc_ipc_file_share(struct sc_ipc_file *own, uint64_t base, uint64_t begin, uint64_t end);

/* Makes the same pages private again, and empty. */
void sc_ipc_file_unshare(struct sc_ipc_file *own, uint64_t base, uint64_t begin, uint64_t end);

/* Maps a part of another process's file and returns its address, or 0. pre: whole pages. */
uint64_t sc_ipc_file_map(const struct sc_ipc_file *other, uint64_t offset, uint64_t bytes);

#endif
