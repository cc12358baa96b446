/* The states of a chunk's content. */
#ifndef SLUICE_CONTENT_H
#define SLUICE_CONTENT_H

enum sl_chunk_content {
    SL_CONTENT_DEAD,          /* nobody may read it; not resident */
    SL_CONTENT_HOST,          /* in host memory */
    SL_CONTENT_RESIDENT,      /* on the device, or on its way there: holds a frame */
    SL_CONTENT_RESIDENT_DEAD, /* holds a frame, but the content is dead */
};

#endif
