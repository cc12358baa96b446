#include "tools/text/temporary_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 32 }; /* for the name of a file */

bool temporary_folder_make(const char *name, char out[PATH_MAX])
{
    const char *place = getenv("TMPDIR");
    int length = snprintf(out, PATH_MAX, "%s/%s-XXXXXX", place && *place == '/' ? place : "/tmp", name);
    bool usable = length < PATH_MAX - ROOM && !strchr(out, '%');
    if (!usable) errno = EINVAL;
    if (usable && mkdtemp(out)) return true;
    *out = 0;
    return false;
}

void temporary_folder_remove(const char *folder)
{
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && (entry = readdir(open));)
        if (entry->d_name[0] != '.') unlinkat(dirfd(open), entry->d_name, 0);
    if (open) closedir(open);
    rmdir(folder);
}
