#!/usr/bin/env python3
"""Trains something under the shim with a module that calls itself torch: the trace names its tensors, and nothing but the objects
of that module is touched.

usage: check_names.py PRELOAD SLUICE
"""
import contextlib
import ctypes
import gc
import os
import subprocess
import sys
import sysconfig
import tempfile
import types
import weakref

KNOWN = ((3, 11), (3, 12), (3, 13))
ROUNDS = 40  # repetitions of the same memsets: more than the eight iterations before names are asked for
SIZES = {"layer.weight": 4096, "layer.weight.grad": 4096, "layer.weight.momentum": 4096, "layer.bias": 64, "scale": 16, "followed": 4}


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found} instead of {wanted}")


class Tensor:
    is_cuda, is_leaf = True, True

    @property
    def grad(self):
        if not self.is_leaf:
            touched.append("the gradient of what is no leaf, which warns")
        return self.__dict__.get("own_grad")

    def __init__(self, driver, bytes_):
        self.bytes, self.address = bytes_, ctypes.c_uint64()
        expect("cuMemAlloc", driver.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(bytes_)), 0)

    def data_ptr(self):
        return self.address.value

    def numel(self):
        return self.bytes // 4

    def element_size(self):
        return 4


class Special(Tensor):
    """A program's own kind of tensor, which may do anything."""

    @property
    def is_cuda(self):
        touched.append("a tensor of the program's own kind")


def broken():
    raise RuntimeError("has no memory")


class Module:
    def __init__(self, **members):
        self._parameters, self._buffers, self._modules = {}, {}, {}
        for name, member in members.items():
            (self._modules if isinstance(member, Module) else self._parameters)[name] = member

    def named_parameters(self):
        touched.append("a method of the program's")


class Optimizer:
    def __init__(self, state):
        self.state = state


class Proxy:
    """isinstance() looks at __class__, too."""

    @property
    def __class__(self):
        touched.append("a property of the program's")
        return Module


touched = []


def program():
    driver = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    for result in (driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), driver.cuCtxSetCurrent(context)):
        expect("CUDA", result, 0)
    torch = types.ModuleType("torch")
    torch.nn, torch.optim = types.SimpleNamespace(Module=Module, Parameter=Tensor), types.SimpleNamespace(Optimizer=Optimizer)
    torch.Tensor, torch._C = Tensor, types.SimpleNamespace(DisableTorchFunction=contextlib.nullcontext)
    sys.modules["torch"] = torch
    weight, bias, scale, momentum = (Tensor(driver, SIZES[name]) for name in ("layer.weight", "layer.bias", "scale", "layer.weight.momentum"))
    weight.own_grad = Tensor(driver, SIZES["layer.weight.grad"])
    layer = Module(weight=weight, bias=bias, none=None)
    host, lost, followed = Tensor(driver, 4), Tensor(driver, 4), Tensor(driver, 4)
    host.is_cuda, lost.data_ptr, followed.is_leaf = False, broken, False
    model = Module(layer=layer, again=layer, host=host, lost=lost, special=Special(driver, 4), followed=followed)
    model._buffers["scale"] = scale
    kept = [Proxy(), Optimizer({weight: {"momentum": momentum, "step": 3}})]
    if "uncollected" in sys.argv:
        gc.disable()
    collects = gc.isenabled()
    for _ in range(ROUNDS):
        for tensor in (weight, bias, scale, momentum, weight.grad):
            expect("cuMemsetD8", driver.cuMemsetD8_v2(tensor.address, ctypes.c_ubyte(1), ctypes.c_size_t(tensor.bytes)), 0)
    expect("touched", touched, [])
    expect("the collector's state", gc.isenabled(), collects)
    left = [weakref.ref(one) for one in (model, layer, scale, momentum, kept[1])]
    del model, layer, scale, momentum, kept, tensor
    expect("what is kept of the program's objects", [one() for one in left], [None] * len(left))


def names(folder, preload, tool, *arguments, **settings):
    """The bytes of each name."""
    trace = os.path.join(folder, "trace.slt")
    environment = {**os.environ, "LD_PRELOAD": preload, "SLUICE_TRACE": trace, "SLUICE_OVERWRITE": "1", "SLUICE_TRACE_FULL": "wait",
                   "SLUICE_DEVICE_BUDGET": "64M", "SLUICE_CHUNK": "2M", **settings}
    subprocess.run([sys.executable, __file__, "program", *arguments], env=environment, check=True)
    dump = subprocess.run([tool, "trace", "dump", trace], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in dump.splitlines()]
    return {row[-1]: int(row[-2].partition("=")[2]) for row in rows if row[3:4] == ["name"]}


def main():
    if sys.version_info[:2] not in KNOWN or sysconfig.get_config_var("Py_GIL_DISABLED"):
        print(f"skipped: this is Python {sys.version.split()[0]}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        expect("names", names(folder, *sys.argv[1:3]), SIZES)
        expect("names without a collector", names(folder, *sys.argv[1:3], "uncollected"), SIZES)
        expect("names that were not asked for", names(folder, *sys.argv[1:3], SLUICE_TRACE_NAMES="off"), {})


if __name__ == "__main__":
    if sys.argv[1:2] == ["program"]:
        program()
    else:
        main()
