/* Messages that would come too often, said once. */
#ifndef SOFTCUDA_CUDART_ONCE_H
#define SOFTCUDA_CUDART_ONCE_H

/* sc_log, only the first time for each `key`, a string that lives for ever. Thread-safe. */
void sc_log_once(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
