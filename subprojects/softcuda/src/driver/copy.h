/* Shared by the files about copies. */
#ifndef SOFTCUDA_COPY_H
#define SOFTCUDA_COPY_H

#include "queue.h"

enum sc_copy_mode {
    SC_COPY_ASYNC,
    SC_COPY_SYNC,       /* waits for the copy, except between device memories */
    SC_COPY_SOURCE_NOW, /* reads the source before the call returns */
};

/* Submits a copy whose sides are known (work.h). May release the lock while it runs. pre: the lock is
 * held. */
CUresult sc_copy_submit(const struct sc_copy_work *copy, struct sc_stream *stream, enum sc_copy_mode mode);

#endif
