/* A program that starts CUDA and trains in a thread with as little stack as it may have, and makes that the
 * default for threads that do not say how much they want: how much more stack the preload needs than the
 * driver alone must stay small, and its own threads must not take that default. The first argument is how
 * many bytes. */
#include "trainer.h"

#include <pthread.h>
#include <stdlib.h>

static void *train(void *unused)
{
    (void)unused;
    must(!trainer_run(10));
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_attr_t attributes;
    pthread_t thread;
    must(count == 2);
    must(!pthread_attr_init(&attributes));
    must(!pthread_attr_setstacksize(&attributes, strtoul(arguments[1], NULL, 10)));
    must(!pthread_setattr_default_np(&attributes));
    must(!pthread_create(&thread, &attributes, train, NULL));
    must(!pthread_join(thread, NULL));
    return 0;
}
