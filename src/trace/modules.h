/* The objects whose code allocates, as the trace has them: a number for each, its path, where it is
 * loaded and its build id. For all threads, without a lock; bounded. */
#ifndef SLUICE_MODULE_H
#define SLUICE_MODULE_H

#include <link.h>

#include "base/types.h"

#define SL_MODULES_MOST 1024u

/* The first 16 bytes of the build id in the object's mapped notes, the rest zeros. False: it has none.
 * pre: the object stays loaded, as inside dl_iterate_phdr. */
bool sl_build_id(const struct dl_phdr_info *object, uint64_t id[2]);

/* The object's number from 1, the same for as long as it is loaded; 0 when there are too many. *is_new: the
 * caller is the first to ask and is to call sl_module_emit. Takes no lock. pre: as above. */
uint32_t sl_module_number(const struct dl_phdr_info *object, bool *is_new);

/* Tells the trace of module `number`. False: the record is lost. */
bool sl_module_emit(uint32_t number);

#endif
