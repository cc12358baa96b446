/* The processor time that the threads which launch kernels spend outside of the device: in the program, and
 * in objects that are preloaded. Counted where kernels are executed in part (SOFTCUDA_EXECUTE=sample).
 * Thread-safe. */
#ifndef SC_PROGRAM_TIME_H
#define SC_PROGRAM_TIME_H

#include <stdbool.h>
#include <stdint.h>

extern bool sc_program_time_counts;
void sc_program_time_note(bool works_for_device);

/* Around what a thread does for the device; not nested. */
static inline void sc_program_time_pause(void)
{
    if (__builtin_expect(sc_program_time_counts, 0)) sc_program_time_note(true);
}
static inline void sc_program_time_go_on(void)
{
    if (__builtin_expect(sc_program_time_counts, 0)) sc_program_time_note(false);
}

/* The calling thread launches a kernel: its time counts from now on. */
void sc_program_time_launched(void);

/* So far, of all threads together, in ns. */
uint64_t sc_program_time_ns(void);

#endif
