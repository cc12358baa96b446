/* Which of the files that users take for one another a file is. */
#ifndef SLUICE_TEXT_FILE_KIND_H
#define SLUICE_TEXT_FILE_KIND_H

/* Says of a file that a command cannot read what it is and what shows it, as the end of a message: "; it is a
 * profile, which sluice profile shows". `wanted`: the first bytes of the kind that the command reads, or
 * NULL.
 * "": it is of that kind, or nothing is known of it. */
const char *other_file_kind(const char *path, const char *wanted);

#endif
