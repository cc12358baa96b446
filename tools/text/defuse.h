/* Texts of files, which are somebody else's, before they are shown. */
#ifndef SLUICE_TOOL_DEFUSE_H
#define SLUICE_TOOL_DEFUSE_H

/* Replaces by ? what is no UTF-8 and what a terminal would obey. */
void defuse_text(char *text);

#endif
