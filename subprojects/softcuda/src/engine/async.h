/* Layout of mbarrier objects, 64 bits of shared memory:
 *
 *   bits 0..19   arrivals pending in this phase
 *   bits 20..39  arrivals per phase
 *   bits 40..62  bytes pending, signed
 *   bit 63       parity of the current phase
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
    SC_MBARRIER_TEST,        /* tests the phase of a state that arrive returned */
    SC_MBARRIER_TEST_PARITY, /* tests the last phase with a parity */
};

#endif
