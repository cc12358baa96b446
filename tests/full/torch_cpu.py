"""What a PyTorch program does on a machine without a GPU; the argument says which part. Prints only what must be the same
in every run."""
import multiprocessing
import os
import subprocess
import sys

import torch


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((16,), float(index)), torch.tensor([index % 7 / 7.0])


def model_and_optimizer():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 1))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3)


def train(workers=0, context=None):
    model, optimizer = model_and_optimizer()
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=workers, multiprocessing_context=context)
    for epoch in range(3):
        for numbers, target in loader:
            loss = torch.nn.functional.mse_loss(model(numbers / 64), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item().hex())


def double(tensor):
    return tensor * 2


def in_processes():
    for context in ("fork", "spawn"):
        with multiprocessing.get_context(context).Pool(2) as pool:
            print(context, [t.sum().item() for t in pool.map(double, [torch.arange(i + 1.0) for i in range(4)])])
    print(subprocess.run([sys.executable, "-c", "import torch; print(torch.arange(5).sum().item())"],
                         capture_output=True, text=True).stdout)
    print(os.system("exit 3"), subprocess.run(["sh", "-c", "kill -9 $$"]).returncode)
    child = os.fork()
    if not child:
        os._exit(int(torch.arange(4).sum()))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def no_device():
    print(torch.cuda.is_available(), torch.cuda.device_count())
    try:
        torch.zeros(1).cuda()
    except (RuntimeError, AssertionError) as error:
        print(type(error).__name__, str(error).splitlines()[0])


def fail():
    sys.exit(5)


if __name__ == "__main__":
    {"train": train, "fork": lambda: train(2, "fork"), "spawn": lambda: train(2, "spawn"), "processes": in_processes,
     "no-device": no_device, "exit": fail, "import": lambda: None}[sys.argv[1]]()
