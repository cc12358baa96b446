/* Which program this is, as far as what it does depends on it: the objects whose code stands on the call
 * stacks of allocations. Sites are offsets in these, so in another build of one of them they mean something
 * else. */
#ifndef SLUICE_IDENTITY_H
#define SLUICE_IDENTITY_H

#include "base/types.h"

/* A file with code in it. */
struct sl_object {
    char *name;           /* of the file, without its folder */
    uint64_t build_id[2]; /* its first 16 bytes; zeros: not known, any */
};

/* A hash of an object's file name without its folder, which may be another one the next time. "" is the
 * program. */
uint64_t sl_identity_of_name(const char *path);

/* Code of the object with this hash stood on an allocation's stack. Any thread, no lock. */
void sl_identity_note(uint64_t name_hash);

/* The program and those of the noted objects that are loaded now. *objects is malloc's, as are the names.
 * False: out of memory. */
bool sl_identity_collect(struct sl_object **objects, uint32_t *count);

enum sl_identity_match {
    SL_IDENTITY_FITS,
    SL_IDENTITY_OTHER_VERSION, /* the same program, or one of its libraries, built anew */
    SL_IDENTITY_OTHER_PROGRAM,
};
/* Compares what is loaded now with `objects`, of which the first is the program; libraries that are loaded
 * later are not looked at. *which: the name among them of what differs. */
enum sl_identity_match sl_identity_match(const struct sl_object *objects, uint32_t count, const char **which);

#endif
