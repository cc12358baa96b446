/* A kernel for the tests of launches: adds a value to each of `count` words. */
#ifndef ADDER_H
#define ADDER_H

#include "device.h"

static const char adder_ptx[] =
    ".version 7.0\n"
    ".target sm_52\n"
    ".address_size 64\n"
    ".visible .entry add(.param .u64 data, .param .u32 count, .param .u32 value)\n"
    "{\n"
    "  .reg .pred %p; .reg .u32 %r<7>; .reg .u64 %rd<4>;\n"
    "  ld.param.u64 %rd1, [data];\n"
    "  ld.param.u32 %r1, [count];\n"
    "  ld.param.u32 %r2, [value];\n"
    "  mov.u32 %r3, %ctaid.x;\n"
    "  mov.u32 %r4, %ntid.x;\n"
    "  mov.u32 %r5, %tid.x;\n"
    "  mad.lo.u32 %r3, %r3, %r4, %r5;\n"
    "  setp.ge.u32 %p, %r3, %r1;\n"
    "  @%p bra done;\n"
    "  cvta.to.global.u64 %rd1, %rd1;\n"
    "  mul.wide.u32 %rd2, %r3, 4;\n"
    "  add.u64 %rd1, %rd1, %rd2;\n"
    "  ld.global.u32 %r6, [%rd1];\n"
    "  add.u32 %r6, %r6, %r2;\n"
    "  st.global.u32 [%rd1], %r6;\n"
    "done:\n"
    "  ret;\n"
    "}\n";

/* In the layout that the kernel's parameters have, for the packed form. */
struct arguments {
    CUdeviceptr data;
    uint32_t count, value;
};

#endif
