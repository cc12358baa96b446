/* Streams on a device that takes notes, one test at a time. */
#ifndef SLUICE_TEST_STREAMS_FIXTURE_H
#define SLUICE_TEST_STREAMS_FIXTURE_H

#include "move/streams.h"
#include "noted_device.h"

enum { MANY = SL_SHARED_STREAM + 5 };

extern struct noted_device device;
extern struct sl_migrator migrator;
extern struct sl_frees frees;
extern struct sl_streams streams;
extern struct sl_fence fence;
extern int handles[MANY]; /* their addresses are streams */

/* Before and after a test. */
int start(void **state);
int stop(void **state);

/* As a launch on the stream does. Its number. */
uint32_t use(sl_stream stream);
/* The number of another thread's default stream. */
uint32_t use_in_another_thread(void);

#endif
