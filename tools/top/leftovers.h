/* What programs that were killed have left in shared memory, and who removes it. */
#ifndef SLUICE_TOOL_LEFTOVERS_H
#define SLUICE_TOOL_LEFTOVERS_H

/* The folder that `sluice run` makes for a command's live files (core/report.h), a template for mkdtemp. Its
 * watcher holds a lock on it until it has reported the command's end and removed the folder. */
#define WATCH_FOLDER "/dev/shm/sluice-XXXXXX"

/* Locks such a folder. Returns a descriptor that keeps the lock; -1: it cannot be locked. */
int watch_folder_lock(const char *folder);

/* Removes what belongs to this user and to no running process: the pages of programs, the node's page, and
 * folders that nobody watches, once they are a minute old. */
void leftovers_remove(void);

#endif
