/* Messages that would repeat too often: logged once. */
#ifndef SOFTCUDA_CUDART_ONCE_H
#define SOFTCUDA_CUDART_ONCE_H

/* Like sc_log, but only at the first call with `key`, a string that lives for ever. Thread-safe. */
void sc_log_once(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
