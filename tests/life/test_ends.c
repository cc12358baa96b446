/* The ends that a training program can come to, each while data is on its way. The first argument says which;
 * the status is the program's own. */
#include "trainer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct trainer trainer;

static void end_in_main(void)
{
    must(!trainer_steps(&trainer, 10));
    exit(7);
}

static void return_from_main(void)
{
    must(!trainer_steps(&trainer, 10));
}

static void quickly(void)
{
    must(!trainer_steps(&trainer, 10));
    quick_exit(7);
}

static void at_once(void)
{
    must(!trainer_steps(&trainer, 10));
    _exit(7);
}

static void *exit_here(void *unused)
{
    (void)unused;
    must(!trainer_enter(&trainer) && !trainer_steps(&trainer, 10));
    exit(7);
}

/* While the main thread launches on: its calls may fail from then on, and must not stop the end. */
static void in_another_thread(void)
{
    pthread_t thread;
    must(!pthread_create(&thread, NULL, exit_here, NULL));
    while (trainer_steps(&trainer, 1) == CUDA_SUCCESS) {
    }
    for (;;) pause();
}

static void free_blocks(void)
{
    for (int i = 0; i < TRAINER_BLOCKS; i++) cuMemFree(trainer.blocks[i]);
}

static void train_more(void)
{
    trainer_steps(&trainer, 2);
    trainer_check(&trainer);
}

__attribute__((destructor)) static void last_of_all(void)
{
    free_blocks();
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*end)(void);
    } ends[] = {{"exit", end_in_main},
                {"return", return_from_main},
                {"quick-exit", quickly},
                {"underscore-exit", at_once},
                {"thread", in_another_thread}};
    must(count == 2);
    atexit(free_blocks); /* runs after what the driver registered, */
    must(!trainer_start(&trainer));
    atexit(train_more); /* and this before */
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!strcmp(arguments[1], ends[i].name)) ends[i].end();
    return 7;
}
