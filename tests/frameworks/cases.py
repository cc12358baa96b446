"""Which programs are run, and how: the table of programs, and a choice of cases that covers all pairs."""
import collections
import itertools

# Of a program's steps the first ones allocate and teach; times are of those behind them.
FIRST_STEADY_STEP = 6

# `without`: allocators that the program cannot have without sluice either, or that its framework does not know.
# `ranks`: processes with a device each, which torchrun starts.
Program = collections.namedtuple("Program", "framework name file arguments steps without variables ranks",
                                 defaults=((), {}, 1))


OF_PYTORCH = ("expandable", "async", "nocache")


def gpt(name, *arguments, steps=20):
    return Program("pytorch", "gpt-" + name, "gpt.py", arguments, steps)


def sharded(sharding, ranks, without=()):
    # Debian's PyTorch has no libuv, which torchrun's own store wants.
    return Program("pytorch", f"{sharding}-{ranks}", "gpt_ranks.py", ("--sharding", sharding, "--layers", "2"), 16, without,
                   {"USE_LIBUV": "0", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}, ranks)


def varying(name, *arguments, framework="pytorch", file=None):
    """Its sizes or its steps vary. Only with the default allocator: other programs are for the others."""
    return Program(framework, name, file or name.replace("-", "_") + ".py", arguments, 24, OF_PYTORCH)


def hugging_face(name, *arguments):
    return Program("transformers", name, "hugging_face.py", arguments, 20)


def nanogpt(name, *arguments):
    """train.py's defaults, but a model that is small enough."""
    small = ("--n_layer=3", "--n_head=4", "--n_embd=256", "--block_size=32", "--batch_size=4", "--gradient_accumulation_steps=2",
             "--eval_interval=6", "--eval_iters=1")
    return Program("nanogpt", name, "nanogpt.py", (*small, *arguments), 20)


def tinygrad(name, *arguments, jit="1", steps=10):
    return Program("tinygrad", "tinygrad-" + name, "tinygrad_gpt.py", arguments, steps, OF_PYTORCH, {"JIT": jit})


PROGRAMS = [
    gpt("foreach", "--optimizer", "adamw"),
    gpt("fused", "--optimizer", "adamw-fused"),
    gpt("sgd", "--optimizer", "sgd"),
    gpt("accumulated", "--accumulate", "2", "--evaluate-every", "3"),
    gpt("bfloat16", "--autocast"),
    gpt("checkpointed", "--checkpoint", "--dropout", "0.1"),
    gpt("workers", "--workers", "2"),
    Program("pytorch", "convolutional", "convolutional.py", (), 20),
    Program("pytorch", "recurrent", "recurrent.py", (), 20),
    # Memory that PyTorch does not keep is freed in the midst of a capture.
    Program("pytorch", "cuda-graph", "cuda_graph.py", (), 24, ("nocache",)),
    sharded("ddp", 2),
    sharded("fsdp", 2),
    sharded("zero", 2, OF_PYTORCH),
    sharded("ddp", 4, OF_PYTORCH),
    sharded("fsdp", 4, OF_PYTORCH),
    hugging_face("trainer"),
    varying("lora", framework="peft"),
    varying("lora-8", "--pad-to", "8", framework="peft", file="lora.py"),
    varying("lora-32", "--pad-to", "32", framework="peft", file="lora.py"),
    varying("graph-network"),
    varying("mixtral", framework="transformers"),
    varying("scaler"),
    varying("trainer-varying", framework="transformers"),
    varying("vision-transformer"),
    varying("residual"),
    varying("adversarial"),
    varying("language-lstm"),
    # PyTorch 2.15 asks NVML about expandable segments, which softcuda does not have.
    Program("torch.compile", "compiled", "compiled.py", (), 20, ("expandable",)),
    nanogpt("nanogpt", "--dtype=float32"),
    nanogpt("nanogpt-bfloat16", "--dtype=bfloat16", "--dropout=0.1"),
    tinygrad("eager"),
    tinygrad("jit", "--jit", jit="2"),
    tinygrad("graphs", "--jit"),
]

ALLOCATORS = {
    "default": {},
    "expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    "async": {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
    "nocache": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
}

Case = collections.namedtuple("Case", "program allocator share daemon schedule")
# Where any value would do, the choice takes the first: what is most likely to go wrong.
FACTORS = {"allocator": list(ALLOCATORS), "share": ["1/2", "1/3"], "daemon": ["thread", "inline"],
           "schedule": ["random", "late", "eager"]}


def pairs_of(case):
    return set(itertools.combinations(enumerate(case), 2))


def choose(programs):
    """Cases in which every two values of two factors, the program among them, come together at least once: always the next case
    that has most pairs which none had before; of several the one whose pairs came least often, so that all come about equally
    often; of several again the first. The order of a random schedule differs from case to case."""
    possible = [Case(program.name, *values) for program in programs for values in itertools.product(*FACTORS.values())
                if values[0] not in program.without]
    pairs = {case: pairs_of(case) for case in possible}
    missing, seen, chosen = set().union(*pairs.values()), collections.Counter(), []

    def merit(case):
        return len(pairs[case] & missing), -sum(seen[pair] for pair in pairs[case])

    while missing:
        chosen.append(max(possible, key=merit))
        missing -= pairs[chosen[-1]]
        seen.update(pairs[chosen[-1]])
    order = [program.name for program in programs]
    chosen.sort(key=lambda case: (order.index(case.program), list(ALLOCATORS).index(case.allocator)))
    return [case._replace(schedule=f"random:{number}") if case.schedule == "random" else case
            for number, case in enumerate(chosen)]


QUICK = ("pytorch", "tinygrad")


def quick(framework):
    """One small run for daily work."""
    if framework == "tinygrad":
        program = tinygrad("quick", "--jit", "--layers", "1", steps=9)
    else:
        program = PROGRAMS[0]._replace(name="gpt-quick", arguments=("--layers", "2"), steps=8)
    return program, Case(program.name, "default", "1/2", "thread", "late")
