/* Records as a fuzzer makes them up, in a trace that is otherwise in order. */
#ifndef SLUICE_RECORDS_FILE_H
#define SLUICE_RECORDS_FILE_H

#include <stddef.h>
#include <stdint.h>

enum { RECORDS_PATH = 32 };

/* A file in memory; `path` names it until the descriptor that is returned is closed. Of another size, it is of
 * another process. */
int records_file(const uint8_t *records, size_t size, char path[RECORDS_PATH]);

#endif
