/* Makes texts that others chose (names of kernels, programs and files, traces) safe to print. */
#ifndef SLUICE_DEFUSE_H
#define SLUICE_DEFUSE_H

/* Replaces invalid UTF-8 and characters that control terminals or the direction of text by ?, in place. */
void sl_defuse(char *text);

#endif
