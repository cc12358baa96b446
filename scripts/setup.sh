# Sourced by test.sh and demo.sh, by bash, from the top of the tree: brings what building and testing need.
#
# What is missing comes as Debian packages; Meson from PyPI where the distribution's is too old (Ubuntu 22.04); CUDA's
# compiler and headers as NVIDIA's PyPI wheels where no toolkit is found; LLVM's libunwind from Debian's package, which is
# unpacked, because installed it takes the place of packages that others need. The latter three stay inside build/. Says what
# it installs before it does, asks nothing, does nothing when nothing is missing, and on failure ends the calling script
# with one line. Afterwards meson is on PATH and CUDA_TOOLKIT (not exported) names the toolkit.

SETUP_LOG=build/setup.log
CUDA_WHEELS="nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96
nvidia-cuda-cccl==13.0.85 nvidia-cuda-profiler-api==13.0.85 nvidia-nvtx==13.0.85"
MESON_WHEEL="meson>=1.0,<2"

# What is needed, as command:package or, found by pkg-config, module:package.
SETUP_COMMANDS="cc:gcc c++:g++ ninja:ninja-build meson:meson pkg-config:pkg-config python3:python3"
[ -z "${SETUP_VALGRIND:-}" ] || SETUP_COMMANDS+=" valgrind:valgrind"
SETUP_MODULES="cmocka:libcmocka-dev libzstd:libzstd-dev liblz4:liblz4-dev libxxhash:libxxhash-dev
mpfr:libmpfr-dev openblas:libopenblas-pthread-dev jemalloc:libjemalloc-dev libdw:libdw-dev
ncursesw:libncurses-dev"

setup_say() { echo "setup: $*"; }

setup_fail() {
    echo "setup: $*" >&2
    exit 1
}

# Is Meson 1.0 or newer on PATH?
setup_has_meson() {
    local version
    version=$(meson --version 2>/dev/null) && [ "${version%%.*}" -ge 1 ]
}

setup_missing_packages() {
    local pair
    for pair in $SETUP_COMMANDS; do
        command -v "${pair%%:*}" >/dev/null || echo "${pair#*:}"
    done
    for pair in $SETUP_MODULES; do
        pkg-config --exists "${pair%%:*}" 2>/dev/null || echo "${pair#*:}"
    done
    setup_has_scipy || echo python3-scipy
    scripts/find-cuda.sh root >/dev/null 2>&1 || setup_has_venv || echo python3-venv
}

# Debian's is for Debian's Python, which need not be the first on PATH.
setup_has_scipy() { python3 -c 'import scipy' 2>/dev/null || /usr/bin/python3 -c 'import scipy' 2>/dev/null; }

# Debian ships the venv module without the ensurepip it needs.
setup_has_venv() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

# Installs Debian packages, as root or by a sudo that needs no password.
setup_install() {
    local as_root=
    setup_say "installing Debian packages: $*"
    command -v apt-get >/dev/null || setup_fail "no apt-get here: install the equivalents of $* and start again"
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || setup_fail "not root: run 'sudo apt-get install $*' and start again"
        as_root="sudo -n"
    fi
    $as_root env DEBIAN_FRONTEND=noninteractive sh -c '
        apt-get -o DPkg::Lock::Timeout=300 update &&
        apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"' sh "$@" >>"$SETUP_LOG" 2>&1 ||
        setup_fail "apt-get could not install $* (see $SETUP_LOG)"
}

# Unpacks the oldest package from LLVM 14 on that the distribution has into the folder.
setup_fetch_unwind() {
    local package
    package=$(apt-cache pkgnames libunwind- 2>/dev/null | sed -n 's/^libunwind-\([0-9][0-9]*\)-dev$/\1/p' | sort -n |
        awk '$1 >= 14 {print "libunwind-" $1 "-dev"; exit}')
    rm -rf "$1"
    mkdir -p "$1"
    [ -n "$package" ] && (cd "$1" && apt-get download "$package" && dpkg -x "$package"_*.deb . && rm "$package"_*.deb) >>"$SETUP_LOG" 2>&1
}

# Fetches the lists of packages, where they may be missing or too old.
setup_update() {
    local as_root=
    [ "$(id -u)" -eq 0 ] || as_root="sudo -n"
    $as_root apt-get -o DPkg::Lock::Timeout=300 update >>"$SETUP_LOG" 2>&1
}

setup_unwind() {
    local part=build/unwind.part
    scripts/find-unwind.sh archive >/dev/null 2>&1 && return
    command -v apt-get >/dev/null || setup_fail "no apt-get here: install LLVM's libunwind as a static library and start again"
    setup_say "unpacking Debian's package of LLVM's libunwind into build/unwind"
    setup_fetch_unwind "$part" || { setup_update && setup_fetch_unwind "$part"; } ||
        setup_fail "apt-get could not download libunwind-14-dev or a newer one (see $SETUP_LOG)"
    rm -rf build/unwind
    mv "$part" build/unwind
    scripts/find-unwind.sh archive >/dev/null || setup_fail "Debian's package of LLVM's libunwind does not hold what was expected"
}

# A Python environment of our own, for pip.
setup_venv() {
    [ -x build/venv/bin/pip ] && return
    setup_has_venv || setup_install python3-venv
    python3 -m venv build/venv >>"$SETUP_LOG" 2>&1 || setup_fail "cannot make a Python environment (see $SETUP_LOG)"
}

setup_meson() {
    [ -x build/venv/bin/meson ] && export PATH="$PWD/build/venv/bin:$PATH"
    setup_has_meson && return
    setup_say "the distribution's Meson is older than 1.0: downloading Meson from PyPI into build/venv"
    setup_venv
    build/venv/bin/pip install -q "$MESON_WHEEL" >>"$SETUP_LOG" 2>&1 ||
        setup_fail "cannot download Meson from PyPI (see $SETUP_LOG)"
    export PATH="$PWD/build/venv/bin:$PATH"
}

# The wheels share one tree, nvidia/cu13, which lacks only what nvcc expects of a toolkit: executable bits, lib64 and
# the name that the linker looks for.
setup_cuda() {
    local part=build/cuda.part root
    # An older tree may have asked for other wheels.
    [ "$(cat build/cuda/wheels 2>/dev/null)" = "$CUDA_WHEELS" ] || rm -rf build/cuda
    if CUDA_TOOLKIT=$(scripts/find-cuda.sh root 2>/dev/null); then
        return
    fi
    setup_say "no CUDA toolkit from 13.0 on found: downloading NVIDIA's compiler and headers from PyPI (100 MB) into build/cuda"
    setup_venv
    rm -rf "$part"
    mkdir -p "$part/wheels"
    build/venv/bin/pip download -q --no-deps --only-binary :all: -d "$part/wheels" $CUDA_WHEELS >>"$SETUP_LOG" 2>&1 ||
        setup_fail "cannot download CUDA's wheels from PyPI (see $SETUP_LOG)"
    python3 - "$part" <<'PYTHON' >>"$SETUP_LOG" 2>&1 || setup_fail "cannot unpack CUDA's wheels (see $SETUP_LOG)"
import glob, sys, zipfile
for wheel in glob.glob(sys.argv[1] + "/wheels/*.whl"):
    zipfile.ZipFile(wheel).extractall(sys.argv[1])
PYTHON
    root=$part/nvidia/cu13
    chmod +x "$root"/bin/* "$root"/nvvm/bin/* 2>/dev/null
    ln -s lib "$root/lib64"
    ln -s libcudart.so.13 "$root/lib/libcudart.so"
    echo "$CUDA_WHEELS" >"$root/wheels"
    mv "$root" build/cuda
    rm -rf "$part"
    CUDA_TOOLKIT=$(scripts/find-cuda.sh root) || setup_fail "CUDA's wheels do not hold what was expected"
}

# Configures build/ on the first call, keeps its options up to date afterwards. With SETUP_TESTS=1 it gets the tests.
setup_configure() {
    local werror=false options
    [ "${CI:-}" = 1 ] || [ "${CI:-}" = true ] && werror=true
    # Meson does not pass later changes of its own options on to subprojects.
    options=(-Dtoolkit="$CUDA_TOOLKIT" -D{,softcuda:}werror="$werror" ${SETUP_TESTS:+-Dtests=enabled})
    # What an older build has more than SETUP_ISAS asks for stays.
    if [ ! -f build/build.ninja ] || [ -z "${SETUP_ISAS:-}" ]; then options+=(-Dsoftcuda:isas="${SETUP_ISAS:-all}"); fi
    if [ -f build/build.ninja ]; then
        meson configure build "${options[@]}" || setup_fail "meson cannot change the options of build/"
    else
        meson setup build "${options[@]}" || setup_fail "meson cannot configure build/"
    fi
}

# The same, and builds TARGETS..., or everything.
setup_build() {
    setup_configure
    ninja -C build "$@" || setup_fail "the build failed"
}

mkdir -p build || setup_fail "cannot make the folder build"
setup_packages=$(setup_missing_packages)
[ -z "$setup_packages" ] || setup_install $setup_packages
setup_unwind
setup_meson
setup_cuda
