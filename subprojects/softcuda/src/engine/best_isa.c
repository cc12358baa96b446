/* Run by the build: which loops over lanes are worth building for this machine. */
#include <stdio.h>

#include "isa_host.h"

int main(void)
{
    puts(sc_host_has_avx512() ? "avx512" : sc_host_has_avx2() ? "avx2" : "baseline");
    return 0;
}
