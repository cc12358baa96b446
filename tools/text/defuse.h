/* Makes texts from foreign files safe to print. */
#ifndef SLUICE_TOOL_DEFUSE_H
#define SLUICE_TOOL_DEFUSE_H

/* Replaces invalid UTF-8 and control characters by ?. */
void defuse_text(char *text);

#endif
