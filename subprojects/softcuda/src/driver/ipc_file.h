/* Memory that this process shares with others which open its handles (cuIpcGetMemHandle).
 *
 * All of it is in one memory file: a head, the interprocess events, and behind them device memory, each page
 * at its place in the window's region. Another process opens the file by the number of this process and of
 * its descriptor, so only the same user can, nothing has a name, and nothing is left behind. A handle holds a
 * random key that the file's head repeats, as a process's number may be reused.
 *
 * What a handle says, and what stands in another process's file, is not trusted.
 *
 * pre: the driver's lock is held. */
#ifndef SOFTCUDA_IPC_FILE_H
#define SOFTCUDA_IPC_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define SC_IPC_HEAD_BYTES (UINT64_C(1) << 20)

/* Of a process's file; a part of every handle. */
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

/* This process's file, made at the first call. NULL: the system refuses. */
struct sc_ipc_file *sc_ipc_file_own(void);

/* Another process's. It stays open until sc_ipc_file_close. false: there is none of that name. */
bool sc_ipc_file_open(const struct sc_ipc_name *name, struct sc_ipc_file *out);
void sc_ipc_file_close(struct sc_ipc_file *other);

/* From now on the pages of [begin, end), with what is in them, are those of this process's file, at
 * [begin - base + SC_IPC_HEAD_BYTES, ...). pre: whole pages; nobody uses them at this moment. false: the
 * system refuses, and nothing changed. */
bool sc_ipc_file_share(struct sc_ipc_file *own, uint64_t base, uint64_t begin, uint64_t end);

/* The same pages are this process's alone again, and empty. */
void sc_ipc_file_unshare(struct sc_ipc_file *own, uint64_t base, uint64_t begin, uint64_t end);

/* Maps a part of another process's file: a new address, or 0. pre: whole pages. */
uint64_t sc_ipc_file_map(const struct sc_ipc_file *other, uint64_t offset, uint64_t bytes);

#endif
