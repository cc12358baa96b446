/* The objects whose code is on the call stacks of allocations: as the trace lists them, with number, path,
 * load address and build id; and as what identifies the program. Sites are offsets in these objects, so they
 * mean something else in another build of one of them. */
#ifndef SLUICE_OBJECTS_H
#define SLUICE_OBJECTS_H

#include "base/types.h"

struct dl_phdr_info;

#define SL_MODULES_MOST 1024u

/* Whether `address` is in a loaded segment of the object from dl_iterate_phdr. */
bool sl_object_holds(const struct dl_phdr_info *object, uint64_t address);

/* The first 16 bytes of the build id in the object's mapped notes, padded with zeros. False: it has none.
 * Precondition: the object stays loaded, as inside dl_iterate_phdr. */
bool sl_build_id(const struct dl_phdr_info *object, uint64_t id[2]);

/* The object's number from 1, constant while it is loaded; 0: too many objects. *is_new: the caller is the
 * first to ask and must call sl_module_emit. Thread-safe, lock-free. Precondition: as above. */
uint32_t sl_module_number(const struct dl_phdr_info *object, bool *is_new);

/* Writes module `number` to the trace. False: the record is lost. Thread-safe. */
bool sl_module_emit(uint32_t number);

/* A file that contains code. */
struct sl_object {
    char *name;           /* of the file, without its folder */
    uint64_t build_id[2]; /* first 16 bytes; zeros: unknown, matches any */
};

/* A hash of an object's file name, without its folder, which may differ between runs. "" is the program. */
uint64_t sl_identity_of_name(const char *path);

/* Notes that code of the object with this hash was on an allocation's stack. Any thread, no lock. */
void sl_identity_note(uint64_t name_hash);

/* Lists the program and the noted objects that are loaded. The caller frees *objects and its names with
 * free(). False: out of memory. */
bool sl_identity_collect(struct sl_object **objects, uint32_t *count);

enum sl_identity_match {
    SL_IDENTITY_FITS,
    SL_IDENTITY_OTHER_VERSION, /* another build of the same program or of one of its libraries */
    SL_IDENTITY_OTHER_PROGRAM,
};
/* Compares the loaded objects with `objects`, of which the first is the program. Objects that are not loaded
 * yet are skipped. *which: the name in `objects` that differs. */
enum sl_identity_match sl_identity_match(const struct sl_object *objects, uint32_t count, const char **which);

/* --- sites.c: where the program allocates. */

/* A hash of the calling library, the call stack above the shim, and the thread's place in Python
 * (python_frames.h). `caller`: the hook's return address. */
uint64_t sl_site_here(const void *caller);

/* --- site_text.c: the same for people. */

/* Where the calling thread is: its innermost line of Python, if possible outside of installed packages, else
 * its innermost function of the program itself, else of another object than this one. Returns `out`. Takes the
 * loader's lock; thread-safe. */
#define SL_SITE_TEXT 160
const char *sl_site_text(char out[SL_SITE_TEXT]);

#endif
