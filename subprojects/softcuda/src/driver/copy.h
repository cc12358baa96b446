/* What the files about copies share. */
#ifndef SOFTCUDA_COPY_H
#define SOFTCUDA_COPY_H

#include "queue.h"

enum sc_copy_mode {
    SC_COPY_ASYNC,
    SC_COPY_SYNC,       /* waits, except between device memories */
    SC_COPY_SOURCE_NOW, /* the source may be gone when the call returns */
};

/* Submits a copy whose sides are known (work.h). pre: the lock is held. May release it meanwhile. */
CUresult sc_copy_submit(const struct sc_copy_work *copy, struct sc_stream *stream, enum sc_copy_mode mode);

#endif
