/* PTX for the launch tests: the text that a program without nvcc would carry. */
#ifndef KERNELS_H
#define KERNELS_H

static const char kernels[] =
    ".version 7.0\n"
    ".target sm_75\n"
    ".address_size 64\n"
    ".visible .global .align 4 .u32 counter = 5;\n"
    /* out[i] = in[i] * scale + bias */
    ".visible .entry affine(.param .u64 out, .param .u64 in, .param .u32 count, .param .f32 scale,\n"
    "                       .param .f32 bias)\n"
    "{\n"
    "  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<5>; .reg .b64 %rd<6>;\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  ld.param.u64 %rd2, [in];\n"
    "  ld.param.u32 %r1, [count];\n"
    "  ld.param.f32 %f1, [scale];\n"
    "  ld.param.f32 %f2, [bias];\n"
    "  mov.u32 %r2, %ctaid.x;\n"
    "  mov.u32 %r3, %ntid.x;\n"
    "  mov.u32 %r4, %tid.x;\n"
    "  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.s32 %p1, %r5, %r1;\n"
    "  @%p1 bra DONE;\n"
    "  cvta.to.global.u64 %rd1, %rd1;\n"
    "  cvta.to.global.u64 %rd2, %rd2;\n"
    "  mul.wide.s32 %rd3, %r5, 4;\n"
    "  add.s64 %rd4, %rd2, %rd3;\n"
    "  ld.global.f32 %f3, [%rd4];\n"
    "  fma.rn.f32 %f4, %f3, %f1, %f2;\n"
    "  add.s64 %rd5, %rd1, %rd3;\n"
    "  st.global.f32 [%rd5], %f4;\n"
    "DONE:\n"
    "  ret;\n"
    "}\n"
    /* counter = value */
    ".visible .entry store(.param .u32 value)\n"
    "{\n"
    "  .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "  ld.param.u32 %r1, [value];\n"
    "  mov.u64 %rd1, counter;\n"
    "  st.global.u32 [%rd1], %r1;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry nothing() { ret; }\n";

#endif
