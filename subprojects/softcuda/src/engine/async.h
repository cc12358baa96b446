/* mbarrier objects, 64 bits of shared memory:
 *
 *   bits 0..19   arrivals still missing in this phase
 *   bits 20..39  arrivals of a phase
 *   bits 40..62  bytes still expected, signed
 *   bit 63       parity of the present phase
 */
#ifndef SOFTCUDA_ENGINE_ASYNC_H
#define SOFTCUDA_ENGINE_ASYNC_H

#define SC_MBARRIER_COUNT_MAX 0xfffffu

enum sc_mbarrier {
    SC_MBARRIER_INIT,
    SC_MBARRIER_INVALIDATE,
    SC_MBARRIER_ARRIVE,
    SC_MBARRIER_DROP,
    SC_MBARRIER_EXPECT,
    SC_MBARRIER_COMPLETE,
    SC_MBARRIER_TEST,        /* the phase of a state that arrive gave */
    SC_MBARRIER_TEST_PARITY, /* the latest phase of a parity */
};

#endif
