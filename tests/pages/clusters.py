#!/usr/bin/env python3
"""docs/clusters.md as it stands, on the software device: BUILD SECTION...

torchrun, accelerate and Ray are the real ones; the page says what stands in for Slurm and Kubernetes. Exit status 77: what a section needs
cannot be had."""
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

from page import SOURCE, Page, expect, launchers, python_of, run_each

sys.path.insert(0, str(SOURCE / "tests/frameworks"))
import frameworks
import running
import wheels

PAGE = "docs/clusters.md"
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"


def on_software(room, name):
    """A file whose `sluice run` is to use the software device."""
    path = room.folder / name
    path.write_text(path.read_text().replace("sluice run", "sluice run --software"))


def copy_program(room, name):
    shutil.copy(SOURCE / "tests/pages/program.py", room.folder / name)
    shutil.copy(SOURCE / "tests/python/device.py", room.folder)


def own_program(room):
    """`python train.py` is the program of this folder, by this Python."""
    room.link("python", sys.executable)
    copy_program(room, "train.py")


def ranks(room, page, names, steps):
    framework = frameworks.PyTorch("transformers")  # which has accelerate
    framework.prepare(running.cache())
    python_of(framework, room)
    launchers(room, *names)
    room.variables["SOFTCUDA_DEVICES"] = "2"
    command, = page.commands
    printed, said = room.with_and_without(command)
    expect("steps", len(re.findall(r"(?m)^step ", printed)) == steps, printed)
    expect("ranks that are told their share", said.count("sluice: host memory: ") == 2, said)


def torchrun(room, page):
    (room.folder / "train.py").write_text(Page("docs/examples/ddp.md").files["train.py"])
    ranks(room, page, ["torchrun"], 16)


def accelerate(room, page):
    ranks(room, page, ["accelerate"], 8)


def ray(room, page):
    packages = wheels.prepare(running.cache(), "ray", THIS)
    room.link("python", sys.executable)
    copy_program(room, "program.py")
    on_software(room, "train.py")
    command, = page.commands
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp") as short:  # of sockets, whose names have to be short
        printed, said = room.shell(command, PYTHONPATH=f"{packages}:{SOURCE / 'python'}:{room.folder}", SOFTCUDA_DEVICES="2", RAY_USAGE_STATS_ENABLED="0",
                                   RAY_TMPDIR=short, SLUICE_VERBOSE="1", SLUICE_STATS=f"{room.folder}/%p.json")
    # Each has one of the devices, and right results.
    expect("trainers", sorted(re.findall(r"(?m)^step \d \((True|False), '(\d)'\)$", printed)) == [("True", "0"), ("True", "1")], printed + said)
    expect("what has no device", "under sluice: False\n" in printed, printed)
    expect("figures of both trainers", len(list(room.folder.glob("*.json"))) == 2, list(room.folder.glob("*")))


def slurm(room, page):
    own_program(room)
    on_software(room, "job.sh")
    room.script("sbatch", "export SLURM_JOB_ID=7 SLURM_NTASKS_PER_NODE=$(sed -n 's/^#SBATCH --ntasks-per-node=//p' $1)", "exec sh $1")
    room.script("srun", "export SLURM_NTASKS=$SLURM_NTASKS_PER_NODE SLURM_STEP_ID=0", "for rank in $(seq 0 $((SLURM_NTASKS - 1))); do",
                '    SLURM_PROCID=$rank SLURM_LOCALID=$rank "$@" & tasks="$tasks $!"', "done", "for task in $tasks; do wait $task || exit; done")
    command, = page.commands
    printed, said = room.shell(command)
    expect("tasks", sorted(re.findall(r"(?m)^step (\d) \((\w+),", printed)) == [("0", "True"), ("1", "True")], printed)
    expect("tasks that are told their share", len(re.findall(r"(?m)^sluice: host memory: .* for each of 2 ranks$", said)) == 2, said)
    expect("memory beyond the budget", said.count("the program needed 48 MiB, was given 16 MiB") == 2, said)
    for rank in range(2):
        told, _ = room.shell(f"sluice trace info run.{rank}.slt")
        expect("a rank's trace", "device memory" in told, told)


def image(room):
    """What the Dockerfile's image has in /usr/local/lib, as far as it matters here."""
    local = room.folder / "image/usr/local/lib"
    local.mkdir(parents=True)
    for name in ("libsluice.so", "libsluice-record.so"):
        shutil.copy(room.build / "shim" / name, local)
    return local


def scrape(room, metrics, training, variables):
    """Starts the commands of both containers. Returns what Prometheus's parser reads once the program has used its memory, and what the
    program says."""
    sys.path.insert(0, str(wheels.prepare(running.cache(), "prometheus-client", None)))
    from prometheus_client.parser import text_string_to_metric_families
    go = room.folder / "go"
    options = {"cwd": room.folder, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(metrics, env=room.variables, **options) as server, \
            subprocess.Popen(training, env={**room.variables, **variables, "WAIT_FOR": str(go)}, **options) as program:
        try:
            step = program.stdout.readline()
            expect("the training", re.fullmatch(r"step 0 \(True, None\)\n", step), step)
            with urllib.request.urlopen(server.stdout.readline().strip().replace("0.0.0.0", "127.0.0.1"), timeout=60) as answer:
                families = {family.name: family.samples for family in text_string_to_metric_families(answer.read().decode())}
            go.touch()
            said = program.communicate(timeout=60)[1]
        finally:
            program.kill()
            server.terminate()
    expect("both ends", (program.returncode, server.returncode) == (0, 0), (program.returncode, server.returncode, said))
    return {name: [sample for sample in samples if sample.labels["process"] == str(program.pid)] for name, samples in families.items()}, said


def kubernetes(room, page):
    sys.path.insert(0, str(wheels.prepare(running.cache(), "kubernetes", THIS)))
    import kubernetes_validate
    import yaml
    pod, prometheus = (yaml.safe_load(page.files[name]) for name in ("pod.yaml", "prometheus.yml"))
    kubernetes_validate.validate(pod, "1.37", strict=True)
    copy, metrics = pod["spec"]["initContainers"]
    training, = pod["spec"]["containers"]
    port = str(metrics["ports"][0]["containerPort"])
    expect("ports", metrics["command"][-1] == f"0.0.0.0:{port}" and pod["metadata"]["annotations"]["prometheus.io/port"] == port
           and prometheus["scrape_configs"][0]["static_configs"][0]["targets"] == [f"training:{port}"], pod)
    expect("what both containers need", pod["spec"]["shareProcessNamespace"] and metrics["restartPolicy"] == "Always", pod)
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    expect("volumes", volumes == {mount["name"] for container in (copy, metrics, training) for mount in container["volumeMounts"]}, pod)
    own_program(room)
    local, volume = image(room), room.folder / "sluice"
    volume.mkdir()
    subprocess.run([word.replace("/usr/local/lib/", f"{local}/").replace("/sluice/", f"{volume}/") for word in copy["command"]], check=True)
    variables = {one["name"]: one["value"].replace("/sluice/", f"{volume}/") for one in training["env"]}
    variables["LD_LIBRARY_PATH"] = str(room.build / "subprojects/softcuda/lib")
    samples, said = scrape(room, [*metrics["command"][:-1], "0.0.0.0:0"], training["command"], variables)
    expect("memory beyond the budget", "needed 48 MiB, was given 16 MiB" in said, said)
    expect("figures", samples["sluice_need_bytes"] and samples["sluice_need_bytes"][0].value == 48 << 20, samples)
    out = sum(sample.value for sample in samples["sluice_copied_bytes"] if sample.labels["direction"] == "out")
    expect("bytes that moved", out > 0, samples["sluice_copied_bytes"])


SECTIONS = {"torchrun": torchrun, "accelerate launch": accelerate, "Ray": ray, "Slurm": slurm, "Kubernetes": kubernetes}


if __name__ == "__main__":
    run_each(SECTIONS, lambda name: Page(PAGE, name))
