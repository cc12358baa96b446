"""Where each framework comes from, and how a program is started in it. What it needs is downloaded once, into a cache."""
import os
import pathlib
import shutil
import sys

import debian
import wheels


class Framework:
    """`prepare` raises debian.Unavailable where it cannot be had. Afterwards `start` gives the environment and the words that
    come before a program's path, and `sources` the files behind which a finished run is not done again."""

    def prepare(self, cache):
        raise NotImplementedError

    def start(self, bench, sluice):
        raise NotImplementedError

    def sources(self):
        return []


class PyTorch(Framework):
    """Debian's PyTorch, by the Python and the loader of a root folder; `extra`: packages of PyPI besides."""

    def __init__(self, *extra):
        self.extra = extra

    def prepare(self, cache):
        self.root = debian.prepare(cache)
        self.added = [wheels.prepare(cache, name, debian.PYTHON) for name in self.extra]

    def start(self, bench, sluice):
        usual = self.root / "usr/lib/x86_64-linux-gnu"
        found = [bench.libraries, usual, usual / "blas", usual / "lapack", self.root / "usr/lib"]
        packages = [*self.added, self.root / "usr/lib/python3/dist-packages"]
        environment = {"PYTHONHOME": self.root / "usr", "PYTHONPATH": ":".join(map(str, packages)), "OMP_NUM_THREADS": "1"}
        # -S: without packages that the user or the system has elsewhere.
        return environment, [usual / "ld-linux-x86-64.so.2", *(["--preload", bench.preload] if sluice else []),
                             "--library-path", ":".join(map(str, found)), self.root / "usr/bin/python3.13", "-S"]

    def sources(self):
        return [wheels.requirements(name) for name in self.extra]


class Compiled(PyTorch):
    """PyPI's PyTorch, of which only that runs on softcuda which Triton compiles. Triton has a C compiler make what starts its
    kernels, with Python's headers, and calls an assembler, for which the build has a stand-in."""

    HEADERS = f"libpython{debian.PYTHON}-dev"

    def __init__(self):
        super().__init__("torch")

    def prepare(self, cache):
        if not shutil.which("gcc", path="/usr/bin:/bin"):
            raise debian.Unavailable("no gcc here, which Triton needs")
        super().prepare(cache)
        self.headers = debian.prepare_alone(cache, self.HEADERS) / "usr/include"

    def start(self, bench, sluice):
        environment, words = super().start(bench, sluice)
        assembler, caches = bench.libraries / "softcuda-ptxas", bench.folder / "cache"
        return {**environment, "CPATH": f"{self.headers}/python{debian.PYTHON}:{self.headers}", "CC": "gcc",
                "TRITON_PTXAS_PATH": assembler, "TRITON_PTXAS_BLACKWELL_PATH": assembler, "TRITON_LIBCUDA_PATH": bench.libraries,
                "TRITON_CACHE_DIR": caches / "triton", "TORCHINDUCTOR_CACHE_DIR": caches / "inductor",
                "TORCHINDUCTOR_COMPILE_THREADS": "1", "TRITON_DEFAULT_FP_FUSION": "1"}, words


class NanoGPT(PyTorch):
    """karpathy/nanoGPT, which the user fetches."""

    URL = "https://github.com/karpathy/nanoGPT"
    FILES = ("train.py", "model.py", "configurator.py")

    def prepare(self, cache):
        self.folder = cache / "nanoGPT"
        if not all((self.folder / name).exists() for name in self.FILES):
            raise debian.Unavailable(f"nanoGPT is not in {self.folder}: git clone {self.URL} {self.folder}")
        super().prepare(cache)

    def start(self, bench, sluice):
        environment, words = super().start(bench, sluice)
        return {**environment, "NANOGPT": self.folder}, words

    def sources(self):
        return [self.folder / name for name in self.FILES]


class Tinygrad(Framework):
    """tinygrad by this Python. It asks the Driver API by ctypes and compiles by NVRTC, which makes PTX."""

    LEAST = (3, 11)

    def prepare(self, cache):
        if sys.version_info < self.LEAST:
            raise debian.Unavailable("tinygrad wants Python 3.11")
        self.added = wheels.prepare(cache, "tinygrad", None)

    def start(self, bench, sluice):
        environment = {"PYTHONPATH": self.added, "LD_LIBRARY_PATH": bench.libraries, "XDG_CACHE_HOME": bench.folder / "cache",
                       "NVRTC_PATH": self.added / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "DEV": "CUDA", "TRAINING": "1",
                       **({"LD_PRELOAD": bench.preload} if sluice else {})}
        return environment, [pathlib.Path(os.path.realpath(sys.executable)), "-S"]

    def sources(self):
        return [wheels.requirements("tinygrad")]


FRAMEWORKS = {"pytorch": PyTorch(), "pytorch-wheel": PyTorch("torch"), "transformers": PyTorch("transformers"),
              "peft": PyTorch("transformers", "peft"), "torch.compile": Compiled(), "nanogpt": NanoGPT(), "tinygrad": Tinygrad()}
