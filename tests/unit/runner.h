/* Included before the source of each unit test: its main() becomes a test of the one program that runner.c
 * makes of them, which is compiled and linked in a fraction of the time that a program for each takes. */
#ifndef SLUICE_TEST_RUNNER_H
#define SLUICE_TEST_RUNNER_H

/* Adds the test of the source file test_NAME.c. */
void unit_add(const char *file, int (*run)(void));

#define main(...)                                                                                            \
    unit_declared(void);                                                                                     \
    static int unit_main(__VA_ARGS__);                                                                       \
    __attribute__((constructor)) static void unit_add_this(void)                                             \
    {                                                                                                        \
        unit_add(__FILE__, unit_main);                                                                       \
    }                                                                                                        \
    static int unit_main(__VA_ARGS__)

#endif
