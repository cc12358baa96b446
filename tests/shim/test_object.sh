#!/bin/sh
# What the built object needs, shows and calls: OBJECT CORE-ARCHIVE. A CUDA library among what it needs ends every process
# of a machine without CUDA; an unwinder among what it shows takes over C++ exceptions.
set -eu
object=$1 core=$2
failed=0
say() { echo "$*"; failed=1; }

for needed in $(readelf -d "$object" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    case $needed in
    libc.so.*|ld-linux*|libdl.so.*|libpthread.so.*) ;;
    *) say "needs $needed" ;;
    esac
done

shown=$(readelf -W --dyn-syms "$object" | awk '$7 != "UND" && $7 != "ABS" && $4 != "NOTYPE" && $5 != "LOCAL" && NR > 3 {print $8}')
for name in $shown; do
    case $name in
    cu[A-Z]*|ncclAll*|ncclBcast@*|ncclBroadcast@*|ncclComm*|ncclGather@*|ncclGroup*|ncclRe*|ncclS*|dlsym@*|dlvsym@*|sluice_figures_v1@*|sluice_mark_v1@*|sluice_save_profile_v1@*|InitializeInjectionNvtx2@*) ;;
    _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE@*) ;; # PyTorch's
    *) say "shows $name" ;;
    esac
done
for name in cuMemAlloc_v2 cuLaunchKernel_ptsz cuGetProcAddress cuGetProcAddress_v2 sluice_figures_v1 sluice_mark_v1 sluice_save_profile_v1 InitializeInjectionNvtx2 \
    _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE dlsym@@GLIBC_2.34 dlvsym@@GLIBC_2.34; do
    echo "$shown" | grep -q "^$name" || say "does not show $name"
done

# Nothing that ends the host process, handles its signals, sleeps or polls. The unwinder in the object may abort, or fail an
# assertion, where it meets what cannot be.
for name in $(readelf -W --dyn-syms "$object" | awk '$7 == "UND" && $8 != "" {sub(/@.*/, "", $8); print $8}'); do
    case $name in
    exit|_exit|_Exit|quick_exit|raise|kill|pthread_kill|tgkill|signal|sigaction|sleep|usleep|nanosleep|\
    clock_nanosleep|poll|ppoll|select|setenv|unsetenv|putenv|system|popen|printf|puts|putchar)
        say "calls $name" ;;
    esac
done
if nm --version >/dev/null 2>&1 && nm -u "$core" | grep -qE '^ *U (abort|__assert_fail)$'; then say "the core calls abort"; fi
exit $failed
