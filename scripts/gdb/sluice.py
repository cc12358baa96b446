"""Printers and commands for gdb: what the core of a process, or of a core dump, holds.

    (gdb) source scripts/gdb/sluice.py
    (gdb) sluice                     the running core, a line for each part
    (gdb) sluice chunks [CHUNK...]   those that are in use or hold a frame of the device
    (gdb) sluice schedule [COUNT]    what is carried out, and the next steps of each direction
    (gdb) sluice streams             the program's streams, and the two directions of the link
    (gdb) print core->placement.slots[3]

An installed libsluice.so loads it by itself where gdb is told to trust the folder (add-auto-load-safe-path). It reads memory
and calls nothing in the process. Needed: libsluice.so with its symbols, as `meson setup` compiles it.
"""
import gdb
import gdb.printing

NONE = (1 << 32) - 1  # SL_NONE
STEPS = 5  # that are shown of each direction


# --- values

def size(value):
    """Bytes as text: whole KiB or MiB where they are."""
    value = int(value)
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if value and value % unit == 0:
            return f"{value // unit} {name}"
    return f"{value} bytes"


def count(number, name):
    return f"{int(number)} {name}{'' if int(number) == 1 else 's'}"


def bits(value):
    """A set of streams."""
    value = int(value)
    return "{" + ", ".join(str(b) for b in range(64) if value >> b & 1) + "}"


def address(value):
    return f"{int(value):#x}"


def enum_name(enum, prefix, value):
    """RESIDENT_DEAD of SL_CONTENT_RESIDENT_DEAD, as words; the number where it has no name."""
    fields = enum.strip_typedefs().fields() if isinstance(enum, gdb.Type) else gdb.lookup_type("enum " + enum).fields()
    return next((field.name[len(prefix):].lower().replace("_", " ") for field in fields if field.enumval == int(value)),
                str(int(value)))


def array(value, length):
    """The first elements of an array or of what a pointer leads to."""
    return [value[i] for i in range(int(length))]


def the_core():
    """The running core, or one that was stopped."""
    for symbol in gdb.lookup_static_symbols("running"):
        if symbol.type.strip_typedefs().tag == "running":
            running = symbol.value()
            cores = [running["only"], *array(running["at"], 32), *array(running["at_rest"], 32)]
            for core in filter(int, cores):  # of several devices the first
                return core.dereference()
    raise gdb.GdbError("no core runs in this process (or libsluice.so has no symbols)")


# --- chunks

def chunk_count(arena):
    return int(arena["slab_count"]) * int(arena["chunks_per_slab"])


def chunk_at(arena, number):
    per_slab = int(arena["chunks_per_slab"])
    return arena["slabs"][number // per_slab]["chunks"][number % per_slab]


def is_resident(chunk):
    return int(chunk["frame_bytes"]) > 0


def chunk_text(chunk):
    parts = [enum_name("sl_chunk_content", "SL_CONTENT_", chunk["content"])]
    if int(chunk["bytes"]):
        parts.append(f"{size(chunk['bytes'])} in use")
    else:
        parts.append("free")
    if is_resident(chunk):
        parts.append(f"frame of {size(chunk['frame_bytes'])}")
    if chunk["pinned"]:
        parts.append("pinned")
    parts.append(f"users {bits(chunk['users'])}")
    if int(chunk["last_use"]):
        parts.append(f"last used by launch {int(chunk['last_use'])}")
    if chunk["unused"]:
        parts.append("not used since it was fetched")
    for name, what in (("in_sequence", "fetch"), ("out_sequence", "eviction")):
        if int(chunk[name]):
            parts.append(f"{what} {int(chunk[name])}")
    return f"chunk at {address(chunk['address'])}: " + ", ".join(parts)


# --- the other structures

def slot_text(slot):
    what = f"slot {int(slot['ordinal'])} of site {address(slot['site'])} and {size(slot['bytes'])}: "
    if slot["live"]:
        what += f"allocation {int(slot['number'])} at {address(slot['address'])}"
    elif int(slot["address"]):
        what += f"free, was at {address(slot['address'])}"
    else:
        what += "free, had no place yet"
    if slot["pinned"]:
        what += ", pinned"
    if int(slot["interior_count"]):
        what += ", tensors begin at " + ", ".join(str(int(at)) for at in array(slot["interior"], slot["interior_count"]))
    return what


def step_text(step, comes=None):
    """`comes`: whether it is a fetch; None: not known."""
    what = f"chunk {int(step['chunk'])} after launch {int(step['after'])}"
    if int(step["deadline"]) and comes is not False:
        what += f", for launch {int(step['deadline'])}"
    if int(step["bytes"]) and comes is not False:
        what += f", {size(step['bytes'])}"
    if int(step["waits_for"]):
        what += f", behind {count(step['waits_for'], 'eviction')}"
    if step["dead"]:
        what += ", dead"
    if step["own"]:
        what += ", of the launch's own stream history"
    return what


def schedule_lines(schedule, steps_shown):
    steps = schedule["steps"]
    first, window, serve = (int(steps[name]) for name in ("first_tick", "window", "serve"))
    if not window:
        return ["nothing is planned"]
    state = "is carried out" if schedule["active"] else "was cancelled"
    lines = [f"a plan for launches {first} to {first + window - 1}, of which {serve} are served, {state}",
             f"launch {int(schedule['begun'])} has begun, {int(schedule['submitted'])} was submitted"]
    for name, what in (("out", "evictions"), ("in", "fetches")):
        issued, total = int(schedule["next_" + name]), int(steps[name + "_count"])
        lines.append(f"{what}: {issued} of {total} issued")
        lines += [f"  {i}: {step_text(steps[name][i], name == 'in')}"
                  for i in range(issued, min(issued + steps_shown, total))]
    return lines


def budget_text(budget):
    charged, lost = int(budget["charged_bytes"]), int(budget["watch"]["lost_bytes"])
    text = size(budget["bytes"])
    if charged:
        text += f", {size(charged)} charged" if charged > 0 else f", {size(-charged)} charged too little"
    if lost:
        text += f", {size(lost)} lost to others"
    return text + (", under pressure" if budget["pressure"] else "")


def record_type(number):
    """The row of trace_format.c for a type of records, or None."""
    for symbol in gdb.lookup_static_symbols("types"):
        rows = symbol.value()
        if rows.type.code == gdb.TYPE_CODE_ARRAY and rows.type.target().unqualified().tag == "sl_trace_type_info":
            if number <= rows.type.range()[1] and int(rows[number]["name"]):
                return rows[number]
    return None


# What the flags of records are: their lower four bits, and the upper ones.
FLAGS = {
    "launch": (("sl_launch_kind", "SL_LAUNCH_"), ("sl_copy_direction", "SL_COPY_")),
    "move": (("sl_action_kind", "SL_ACTION_"), ("sl_move_cause", "SL_CAUSE_")),
    "decision": (("sl_decision", "SL_DECISION_"),),
}


def flags_text(name, flags):
    if name not in FLAGS:
        return f"flags {flags}"
    return " ".join(enum_name(enum, prefix, flags >> 4 * i & 15) for i, (enum, prefix) in enumerate(FLAGS[name]))


def event_text(event):
    row = record_type(int(event["type"]))
    if row is None:
        return f"record of type {int(event['type'])}"
    name = row["name"].string()
    text = f"{name} ({flags_text(name, int(event['flags']))}) at launch {int(event['tick'])}"
    for field in ("id", "a", "b", "c", "d"):
        value = int(event[field])
        if int(row[field]):
            text += f", {row[field].string()} {value:#x}" if "address" in row[field].string() else f", {row[field].string()} {value}"
        elif value:
            text += f", {field} {value}"
    return text + (f', "{event["text"].string()}"' if int(event["text"]) else "")


def direction_text(direction):
    return f"{int(direction['issued'])} issued, {int(direction['done'])} known to be done"


def arena_text(arena):
    used = resident = 0
    for c in range(chunk_count(arena)):
        chunk = chunk_at(arena, c)
        used += int(chunk["bytes"]) > 0
        resident += is_resident(chunk) and not chunk["pinned"]
    return (f"{count(arena['slab_count'], 'slab')} of {count(arena['chunks_per_slab'], 'chunk')} of "
            f"{size(arena['chunk_bytes'])}: {used} in use ({size(arena['virtual_bytes_used'])}), {resident} resident")


def core_lines(core):
    placement, history, planning = core["placement"], core["history"], core["planning"]
    remembered = int(placement["slot_count"]) - int(placement["free_slots"]) - int(placement["live_count"])
    return [
        ("budget", budget_text(core["budget"])),
        ("arena", arena_text(core["arena"])),
        ("placement", f"{count(placement['live_count'], 'live slot')} ({size(placement['live_bytes'])}), "
                      f"{remembered} remembered"),
        ("frees", f"{count(core['reuse']['frees']['count'], 'freed range')} that the device may use"),
        ("history", f"{count(history['fed'], 'symbol')}, the last {int(history['streak'])} predicted, "
                    f"{count(history['iterations'], 'iteration')}"),
        ("planning", f"{enum_name(planning['stage'].type, 'SL_PLANNING_', planning['stage'])}, "
                     f"{count(planning['mispredictions'], 'misprediction')}"),
        ("schedule", schedule_lines(core["schedule"], 0)[0]),
        ("migrator", f"{size(core['migrator']['occupied_bytes'])} in frames; in: {direction_text(core['migrator']['in'])}; "
                     f"out: {direction_text(core['migrator']['out'])}"),
        ("streams", f"{count(core['streams']['count'], 'number')} in use, active {bits(core['streams']['active'])}"),
        ("ticks", f"launch {int(core['history']['ticks']['now'])} was the last that began"),
        ("daemon", "threads" if int(core["schedule"]["daemon"]) else "inline"),
        ("checks", f"{int(gdb.parse_and_eval('sl_check_failures'))} failed"),
    ]


# --- printers

class Text:
    """Prints a value as one text."""

    def __init__(self, value, text):
        self.value, self.text = value, text

    def to_string(self):
        return self.text(self.value)


PRINTERS = {
    "sl_core": lambda core: "\n".join(["sluice's core"] + [f"  {name:<10} {text}" for name, text in core_lines(core)]),
    "sl_chunk_record": chunk_text,
    "sl_slot": slot_text,
    "sl_schedule": lambda schedule: "\n".join(schedule_lines(schedule, STEPS)),
    "sl_budget": budget_text,
    "sl_event": event_text,
    "sl_step": step_text,
}


def register():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("sluice")
    for tag, text in PRINTERS.items():
        printers.add_printer(tag, f"^{tag}$", lambda value, text=text: Text(value, text))
    gdb.printing.register_pretty_printer(gdb.current_objfile(), printers, replace=True)
    gdb.execute("set max-value-size unlimited")  # a core is larger than gdb would print


# --- commands

class Sluice(gdb.Command):
    """The running core of sluice, a line for each part."""

    def __init__(self):
        super().__init__("sluice", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)

    def invoke(self, argument, from_tty):
        print(PRINTERS["sl_core"](the_core()))


class Chunks(gdb.Command):
    """Chunks that are in use or hold a frame of the device, or those with these numbers: sluice chunks [CHUNK...]"""

    def __init__(self):
        super().__init__("sluice chunks", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        arena = the_core()["arena"]
        numbers = [int(gdb.parse_and_eval(word)) for word in gdb.string_to_argv(argument)]
        for number in numbers:
            if not 0 <= number < chunk_count(arena):
                raise gdb.GdbError(f"there are chunks 0 to {chunk_count(arena) - 1}")
        for c in numbers or range(chunk_count(arena)):
            chunk = chunk_at(arena, c)
            if not numbers and not int(chunk["bytes"]) and (chunk["pinned"] or not is_resident(chunk)):
                continue
            print(f"{c}: {chunk_text(chunk)}, {self.owner(chunk, c)}")

    @staticmethod
    def owner(chunk, number):
        if int(chunk["group"]) != NONE:
            return f"packed with {count(chunk['bitmap']['count'], 'allocation')}"
        if int(chunk["run_chunks"]) and int(chunk["run"]) != number:
            return f"of the run that begins with chunk {int(chunk['run'])}"
        return f"of slot {int(chunk['run_slot'])}" if int(chunk["run_slot"]) != NONE else "nobody's"


class Schedule(gdb.Command):
    """What is carried out, and the next steps of each direction: sluice schedule [COUNT]"""

    def __init__(self):
        super().__init__("sluice schedule", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        steps = int(gdb.parse_and_eval(argument)) if argument else STEPS
        print("\n".join(schedule_lines(the_core()["schedule"], steps)))


class Streams(gdb.Command):
    """The program's streams by their numbers, and the two directions of the link."""

    def __init__(self):
        super().__init__("sluice streams", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        core = the_core()
        streams, migrator = core["streams"], core["migrator"]
        for s in range(int(streams["count"])):
            known = streams["known"][s]
            state = "active" if int(streams["active"]) >> s & 1 else "idle"
            print(f"{s}: handle {address(known['handle'])}, {state}, has waited for fetch {int(known['joined_in'])} "
                  f"and eviction {int(known['joined_out'])}")
        if int(streams["more_count"]):
            print(f"and {int(streams['more_count'])} that have no number of their own")
        print(f"captures under way: {int(streams['captures'])}; work that may be held up: {int(migrator['held'])}")
        print(f"in: {direction_text(migrator['in'])}")
        print(f"out: {direction_text(migrator['out'])}")


register()
Sluice()
Chunks()
Schedule()
Streams()
