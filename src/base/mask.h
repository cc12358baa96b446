/* Hides what looks like a secret in a command line: values of options and variables that are named like keys,
 * tokens and passwords, passwords in URLs, and words that begin like the tokens of well-known services. */
#ifndef SLUICE_MASK_H
#define SLUICE_MASK_H

#include <stdbool.h>
#include <stddef.h>

#define SL_MASK "***" /* stands for each secret */

/* Writes `bytes` bytes of arguments, each ended by a zero byte, as one line of at most `room` - 1 bytes,
 * separated by spaces; *out is terminated. Without `mask` nothing is hidden. Precondition: room > 0. */
void sl_mask_command(const char *arguments, size_t bytes, bool mask, char *out, size_t room);

#endif
