"""What the machine is, besides what CUDA says: the link, the driver's settings, the host's memory, the kernel's messages.

Usage: machine.py FOLDER [--software]     leaves a text file in FOLDER for each thing that was read, and prints a JSON object with
                                          what decides something; PYTHON names the Python whose packages count
       machine.py --packages              prints the versions of this Python's packages as a JSON object
"""
import glob
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys

FILES = ("/proc/meminfo", "/proc/buddyinfo", "/proc/pagetypeinfo", "/proc/vmstat", "/proc/cmdline", "/proc/self/limits",
         "/proc/self/cgroup", "/proc/driver/nvidia/version", "/proc/driver/nvidia/params", "/proc/driver/nvidia-uvm/*",
         "/sys/module/nvidia_uvm/parameters/*", "/sys/module/nvidia/parameters/*", "/sys/module/nvidia_uvm/version",
         "/sys/kernel/mm/transparent_hugepage/*", "/sys/fs/cgroup/memory.*",
         "/sys/fs/cgroup/memory/memory.*_in_bytes", "/sys/fs/cgroup/memory/memory.stat",
         "/sys/devices/system/node/node*/meminfo", "/etc/os-release")
COMMANDS = {"nvidia-smi.txt": ["nvidia-smi", "-q"], "topology.txt": ["nvidia-smi", "topo", "-m"], "lscpu.txt": ["lscpu"],
            "numa.txt": ["numactl", "--hardware"], "kernel-log.txt": ["dmesg"]}
COMMAND_LIMIT_SECONDS = 5
PACKAGES = re.compile(r"(torch|triton|transformers|accelerate|jax|jaxlib|jax-cuda.*|cupy.*|numpy|nvidia-.*|cuda-.*|deepspeed|"
                      r"tensorflow|vllm|bitsandbytes|flash[_-]attn)$", re.IGNORECASE)
MODULES = ("torch", "transformers", "accelerate", "triton", "jax", "cupy")
# Of the kernel's messages, those that tell of a driver or of memory in trouble.
TROUBLE = re.compile(r"NVRM|Xid|nvidia|uvm|out of memory|oom-kill|BUG:|Oops|soft lockup|hung task|segfault", re.IGNORECASE)
HUGE_ORDER = 9  # 2 MiB in pages of 4 KiB


def run(command):
    """What a command prints, with what it complains of, or None."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                              errors="replace", timeout=COMMAND_LIMIT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return None


def free_huge_bytes(buddyinfo):
    """Free memory in blocks of 2 MiB and more."""
    total = 0
    for line in (buddyinfo or "").splitlines():
        counts = line.partition("zone")[2].split()[1:]
        total += sum(int(count) << order << 12 for order, count in enumerate(counts) if order >= HUGE_ORDER)
    return total


def meminfo_bytes(text):
    return {name: int(value) << 10 for name, value in re.findall(r"^(\w+): +(\d+) kB", text or "", re.MULTILINE)}


def spare_bytes():
    """What the machine has, or what the control group leaves; files in memory can be given up."""
    spare = meminfo_bytes(read("/proc/meminfo")).get("MemAvailable", 0)
    for folder, limit, used, prefix in (("", "max", "current", ""), ("memory/", "limit_in_bytes", "usage_in_bytes", "total_")):
        most, now, stat = (read(f"/sys/fs/cgroup/{folder}memory.{name}") for name in (limit, used, "stat"))
        if most and now and most.strip().isdigit():
            files = sum(map(int, re.findall(rf"^{prefix}(?:in)?active_file (\d+)$", stat or "", re.MULTILINE)))
            spare = min(spare, max(0, int(most) - int(now) + files))
    return spare


def host_memory():
    """For comparison before and after something."""
    memory = meminfo_bytes(read("/proc/meminfo"))
    return {"available_bytes": memory.get("MemAvailable"), "free_bytes": memory.get("MemFree"),
            "total_bytes": memory.get("MemTotal"), "free_2_mib_bytes": free_huge_bytes(read("/proc/buddyinfo"))}


def python():
    return os.environ.get("PYTHON") or sys.executable


def packages_of(interpreter):
    """Versions of what decides something."""
    try:
        return json.loads(run([interpreter, os.path.abspath(__file__), "--packages"]) or "{}")
    except ValueError:
        return {}


def own_packages():
    """By what is installed: an import takes seconds, and may open the device."""
    found = {package.metadata["Name"]: package.version for package in importlib.metadata.distributions()
             if package.metadata["Name"] and PACKAGES.match(package.metadata["Name"])}
    unknown = [name for name in MODULES if name not in found and importlib.util.find_spec(name)]
    return {**found, **dict.fromkeys(unknown, "of unknown version")}


def smi_values(text):
    """Of nvidia-smi -q: what decides something. The link runs at its speed only while it is used."""
    wanted = {"addressing_mode": r"Addressing Mode\s*: (.*)", "persistence": r"Persistence Mode\s*: (.*)",
              "confidential_computing": r"CC (?:State|status)\s*: (.*)", "bar1_total": r"BAR1 Memory Usage\s+Total\s*: (.*)",
              "virtualization": r"Virtualization Mode\s*: (.*)", "gsp_firmware": r"GSP Firmware Version\s*: (.*)"}
    found = {name: re.search(pattern, text or "") for name, pattern in wanted.items()}
    return {name: match.group(1).strip() for name, match in found.items() if match}


def link():
    """(driver, generation and width that the link can have), of the first device."""
    line = (run(["nvidia-smi", "--query-gpu=driver_version,pcie.link.gen.max,pcie.link.width.max", "--format=csv,noheader"]) or "")
    words = [word.strip() for word in line.partition("\n")[0].split(",")]
    return dict(zip(("driver", "link_generation", "link_width"), words)) if len(words) == 3 else {}


class KernelLog:
    """The kernel's messages since the last look, where they may be read."""

    def __init__(self):
        self.seen = set((run(["dmesg"]) or "").splitlines())

    def new_trouble(self):
        lines = [line for line in (run(["dmesg"]) or "").splitlines() if line not in self.seen]
        self.seen.update(lines)
        return [line for line in lines if TROUBLE.search(line)]


def save(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def main():
    if sys.argv[1] == "--packages":
        print(json.dumps(own_packages()))
        return
    folder, software = sys.argv[1], "--software" in sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    for path in sorted(path for pattern in FILES for path in glob.glob(pattern)):
        text = read(path)
        if text is not None and os.path.isfile(path):
            save(folder, path.strip("/").replace("/", "-") + ".txt", text)
    said = {}
    for name, command in COMMANDS.items():
        said[name] = None if software and command[0] == "nvidia-smi" else run(command)
        save(folder, name, said[name] if said[name] is not None else "not to be had\n")
    parameters = {os.path.basename(path): (read(path) or "").strip()
                  for path in glob.glob("/sys/module/nvidia_uvm/parameters/*")}
    trouble = [line for line in (said["kernel-log.txt"] or "").splitlines() if TROUBLE.search(line)]
    print(json.dumps({"part": "facts", **({} if software else link()), **smi_values(said["nvidia-smi.txt"]),
                      "host": host_memory(), "packages": packages_of(python()),
                      "nvidia_uvm": parameters, "kernel_log_readable": said["kernel-log.txt"] is not None,
                      "kernel_log": trouble[-20:]}))


if __name__ == "__main__":
    main()
