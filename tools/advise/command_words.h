/* What distinguishes two command lines. */
#ifndef SLUICE_TOOL_COMMAND_WORDS_H
#define SLUICE_TOOL_COMMAND_WORDS_H

#include <stddef.h>

/* The words of the command `other` that `own` does not have, in their order, each with the option before it.
 * Both are split at spaces. */
void other_words(const char *own, const char *other, char *out, size_t bytes);

#endif
