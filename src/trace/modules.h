/* The objects whose code allocates, as the trace lists them: number, path, load address and build id.
 * Thread-safe, lock-free and bounded. */
#ifndef SLUICE_MODULE_H
#define SLUICE_MODULE_H

#include <link.h>

#include "base/types.h"

#define SL_MODULES_MOST 1024u

/* The first 16 bytes of the build id in the object's mapped notes, padded with zeros. False: it has none.
 * Precondition: the object stays loaded, as inside dl_iterate_phdr. */
bool sl_build_id(const struct dl_phdr_info *object, uint64_t id[2]);

/* The object's number from 1, constant while it is loaded; 0: too many objects. *is_new: the caller is the
 * first to ask and must call sl_module_emit. Lock-free. Precondition: as above. */
uint32_t sl_module_number(const struct dl_phdr_info *object, bool *is_new);

/* Writes module `number` to the trace. False: the record is lost. */
bool sl_module_emit(uint32_t number);

#endif
