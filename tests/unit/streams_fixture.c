#include "streams_fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct noted_device device;
static struct sl_lock order = SL_LOCK_INITIALIZER(SL_LOCK_ORDER);
struct sl_migrator migrator;
struct sl_frees frees;
struct sl_streams streams;
struct sl_fence fence;
int handles[MANY];

int start(void **state)
{
    (void)state;
    noted_device_begin(&device);
    streams = (struct sl_streams){.order = &order, .migrator = &migrator, .frees = &frees};
    fence = (struct sl_fence){0};
    return sl_migrator_init(&migrator, &device.backend, NULL, NULL, &streams.captures) ||
                   sl_frees_init(&frees, &device.backend)
               ? -1
               : 0;
}

int stop(void **state)
{
    (void)state;
    for (int s = 0; s < SL_SHARED_STREAM; s++)
        if (streams.before_capture[s]) device.backend.event_delete(&device, streams.before_capture[s]);
    for (int s = 0; s < SL_STREAMS; s++)
        if (fence.events[s]) device.backend.event_delete(&device, fence.events[s]);
    sl_waits_end(&streams.gone, &frees);
    free(streams.more);
    sl_frees_close(&frees, false);
    sl_migrator_close(&migrator, false);
    return device.made == device.deleted ? 0 : -1;
}

uint32_t use(sl_stream stream)
{
    uint32_t s = sl_stream_number(&streams, stream);
    sl_stream_is_used(&streams, s);
    return s;
}

static void *number_of_thread(void *number)
{
    *(uint32_t *)number = use(SL_STREAM_PER_THREAD);
    return NULL;
}

uint32_t use_in_another_thread(void)
{
    pthread_t thread;
    uint32_t number = SL_NONE;
    assert_int_equal(pthread_create(&thread, NULL, number_of_thread, &number), 0);
    pthread_join(thread, NULL);
    return number;
}
