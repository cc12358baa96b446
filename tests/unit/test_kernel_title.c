/* Names of kernels for narrow tables: what differs between kernels stands first, also where the trace has cut
 * the name. */
#include "tools/model/kernel_title.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/model/demangle.h"

static void check(const char *name, const char *wanted)
{
    char *title = kernel_title(name);
    assert_non_null(title);
    assert_string_equal(title, wanted);
    free(title);
}

static void plain_names_stay(void **state)
{
    (void)state;
    check("softcuda_gemm", "softcuda_gemm");
    check("copy", "copy");
    check("", "");
    check("a b::c<d>(e)", "a b::c<d>(e)");
}

static void namespaces_and_parameters_go(void **state)
{
    (void)state;
    char *known = demangle("_Z1fv");
    if (!known) skip(); /* no C++ library */
    free(known);
    check("_Z6matmulPKfS0_Pf", "matmul");
    check("_ZN41_GLOBAL__N__47aea187_12_irregular_cu_main3mixEPjS0_S0_j",
          "mix"); /* the compiler's own anonymous namespace */
    check("_ZN12_GLOBAL__N_13mixEPj", "mix");
    check("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_"
          "T1_",
          "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3ul> >");
}

static void cut_names_list_their_identifiers(void **state)
{
    (void)state;
    check("_ZN2at6native54_GLOBAL__N__11a57df7_21_ForeachPointwiseOp_cu_ef478fac25multi_tensor_apply_"
          "kernelINS1_"
          "18TensorListMetadataILi3EEENS1_24PointwiseOpScalarFunctorIfLi3ELi3ELi0EEEJSt10multipliesIf",
          "multi_tensor_apply_kernel<TensorListMetadata, PointwiseOpScalarFunctor, multiplies, ...");
    check("_ZN2at6native12some_kernelIf", "some_kernelI..."); /* the length is wrong, and it is cut */
    check("_ZN2at99x", "at...");
    check("_Z", "_Z");
    check("_Z99999999999999999999999x", "_Z99999999999999999999999x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_names_stay),
        cmocka_unit_test(namespaces_and_parameters_go),
        cmocka_unit_test(cut_names_list_their_identifiers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
