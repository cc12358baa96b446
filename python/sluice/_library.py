"""The functions of libsluice.so, if it is preloaded: include/sluice/figures.h and include/sluice/marks.h in Python."""
import contextlib
import functools
import typing

PUSH, POP, MOMENT = 0, 1, 2  # as in enum sluice_trace_mark
MOST_DEVICES = 32


class Stats(typing.NamedTuple):
    """What sluice has done for a device of this process. Of movements, "plan" means ahead of use, by a plan; "demand": when a
    launch needed the data; "late": planned, but only the launch that needed the data moved them."""

    # Since the device's first use:
    launches: int
    bytes_in_plan: int  # host to device
    bytes_in_demand: int
    bytes_in_late: int
    bytes_out_plan: int  # device to host
    bytes_out_demand: int
    bytes_out_late: int
    remote_bytes: int  # used in host memory, over the link
    demand_misses: int  # needed chunks that were neither resident nor planned
    late_prefetches: int  # planned chunks that only the launch that needs them fetched
    stalls: int  # launches that waited for data
    stall_ns: int  # how long, by the device's clock
    events: int  # launches, allocations and frees
    predicted: int  # of these
    plans: int
    mispredictions: int  # for which a plan was given up
    steps: int  # training steps that ended, or other repetitions of the program
    # Of the last of these steps:
    step_ns: int  # by the host's clock
    device_step_ns: int  # by the device's clock; 0: not measured lately
    step_stall_ns: int
    # Bytes, as of now:
    budget_bytes: int  # of the device, for the program's data
    occupied_bytes: int  # of it, in use now
    peak_occupied_bytes: int  # and at most so far
    live_bytes: int  # allocated now
    need_bytes: int  # and at most so far
    host_bytes: int  # of the host, taken for data
    chunk_bytes: int

    @property
    def bytes_in(self):
        return self.bytes_in_plan + self.bytes_in_demand + self.bytes_in_late

    @property
    def bytes_out(self):
        return self.bytes_out_plan + self.bytes_out_demand + self.bytes_out_late

    @property
    def stall_seconds(self):
        return self.stall_ns / 1e9


@functools.cache
def _function(name, returns, *takes):
    """A function of libsluice.so; None where it is not preloaded, or older. ctypes is not imported before it is needed."""
    try:
        import ctypes
        function = getattr(ctypes.CDLL(None), name)
    except (ImportError, OSError, AttributeError):
        return None
    function.restype, function.argtypes = getattr(ctypes, returns), [getattr(ctypes, type) for type in takes]
    return function


@functools.cache
def _structure():
    """struct sluice_figures: its members are those of Stats, in the same order."""
    import ctypes
    return type("Figures", (ctypes.Structure,), {"_fields_": [(name, ctypes.c_uint64) for name in Stats._fields]})


def active():
    """Whether libsluice.so is preloaded into this process."""
    return _tell() is not None


def stats(device=0):
    """The Stats of a device that this process uses, counted from 0 in the order of their first use. None where there is none:
    not under sluice, before the first allocation, with SLUICE_POLICY=off, and in a child after fork."""
    function = _function("sluice_figures_v1", "c_size_t", "c_uint", "c_void_p", "c_size_t")
    if function is None:
        return None
    import ctypes
    found = _structure()()
    if not 0 <= device < MOST_DEVICES or not function(device, ctypes.byref(found), ctypes.sizeof(found)):
        return None
    return Stats(*(getattr(found, name) for name in Stats._fields))


@functools.cache
def _tell():
    return _function("sluice_mark_v1", "c_int", "c_int", "c_char_p")


def mark(name):
    """Names this moment in the trace that sluice records, if any."""
    tell = _tell()
    if tell is not None:
        tell(MOMENT, name.encode(errors="replace"))


def range_push(name):
    """Begins a range of this thread, within those that it began before. sluice knows what "forward", "backward" and "update"
    mean."""
    tell = _tell()
    if tell is not None:
        tell(PUSH, name.encode(errors="replace"))


def range_pop():
    """Ends the range that this thread began last."""
    tell = _tell()
    if tell is not None:
        tell(POP, None)


class range(contextlib.ContextDecorator):
    """A range, for `with` or as a decorator."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        range_push(self.name)
        return self

    def __exit__(self, *_):
        range_pop()


def save_profile():
    """Writes what sluice has learned so far to the file that SLUICE_PROFILE names, as it does itself at the end: for a program
    that may be killed. Whether it was written."""
    function = _function("sluice_save_profile_v1", "c_int")
    return function is not None and function() == 0
