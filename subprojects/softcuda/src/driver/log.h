/* One-line log messages: faults, refused functions, bad options. */
#ifndef SOFTCUDA_LOG_H
#define SOFTCUDA_LOG_H

/* Writes "softcuda: ..." and a newline with a single write, to the file of SOFTCUDA_LOG or to standard error.
 * Never allocates; ignores errors. Thread safety: may be called from any thread. */
void sc_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Replaces %p by the process id. `out` always gets a terminating NUL. */
void sc_expand_path(const char *pattern, char *out, unsigned long out_bytes);

#endif
