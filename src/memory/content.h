/* What becomes of a chunk's content. */
#ifndef SLUICE_CONTENT_H
#define SLUICE_CONTENT_H

enum sl_chunk_content {
    SL_CONTENT_DEAD,          /* nothing in it that anybody may read; not resident */
    SL_CONTENT_HOST,          /* its content is in host memory */
    SL_CONTENT_RESIDENT,      /* on the device, or on its way there: it holds a frame */
    SL_CONTENT_RESIDENT_DEAD, /* holds a frame, but its content is dead */
};

#endif
