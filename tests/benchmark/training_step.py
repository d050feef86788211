#!/usr/bin/env python3
"""Compares a training step of Crema with PyTorch's on the CPU.

A step is what a solver does once an iteration: forward, backward, and SGD with momentum and weight
decay. Images and labels are made once and stay in memory, so that nothing but the step is timed.

How the comparison is kept fair:

* Every measurement is a process of its own: Crema's is the program `training_step`, PyTorch's is
  this script again (`--torch NET`). Both print one JSON line, and both warm up before they time.
* The engines take turns, and every other round in the opposite order, so that a machine which
  slows down or speeds up in the meantime does so for all of them. Figures are medians over rounds.
* PyTorch runs twice, in its default memory layout ("contiguous") and in "channels_last". For each
  net the faster one is PyTorch's figure.
* Both get the same number of threads, the same nets, and the same initial distributions of
  weights: with others, activations might decay to denormal numbers, which are slow.

What the step costs, counted the same way for every engine: with M multiply-adds in the forward
pass of one image, M1 of them in the first layer,

    flops = 2 * (3 * M - M1)

since a multiply-add is two operations, and backward computes two products of the forward pass's
size, one for the gradients of the weights and one for those of the input, except that nobody
needs the gradient of the images. Only convolutions and inner products are counted. "% of peak"
divides the rate by the best float matrix product seen on this machine during the run, by either
engine's library.

This process must not import torch itself: a child's peak memory, as the system reports it, is
never below that of the process that started it.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "build/tests/benchmark/training_step"
LAYOUTS = ("contiguous", "channels_last")
MOMENTUM = 0.9
WARM_UP = 3  # steps before the clock starts: memory is allocated, kernels are chosen


class Net(NamedTuple):
    """What is measured, and the solver settings that the net's own solver.prototxt has."""

    batch: int
    iterations: int
    image: tuple  # channels, height, width
    classes: int
    rate: float
    weight_decay: float
    decay_biases: bool


NETS = {
    "lenet": Net(64, 300, (1, 28, 28), 10, 0.01, 0.0005, True),
    "cifar10_quick": Net(100, 60, (3, 32, 32), 10, 0.001, 0.004, True),
    "caffenet": Net(32, 8, (3, 227, 227), 1000, 0.01, 0.0005, False),
}


# ---------------------------------------------------------------- PyTorch: the nets


def xavier(layer):
    """Caffe's default xavier filler: uniform within sqrt(3 / fan-in); biases 0."""
    bound = (3 / layer.weight[0].numel()) ** 0.5
    layer.weight.data.uniform_(-bound, bound)
    layer.bias.data.zero_()
    return layer


def gaussian(layer, std, bias=0):
    layer.weight.data.normal_(0, std)
    layer.bias.data.fill_(bias)
    return layer


def lenet(nn):
    return nn.Sequential(
        xavier(nn.Conv2d(1, 20, 5)),
        nn.MaxPool2d(2, 2),
        xavier(nn.Conv2d(20, 50, 5)),
        nn.MaxPool2d(2, 2),
        nn.Flatten(),
        xavier(nn.Linear(800, 500)),
        nn.ReLU(inplace=True),
        xavier(nn.Linear(500, 10)),
    )


def cifar10_quick(nn):
    """Without padding PyTorch's average divides, like Caffe's, by the part inside the image."""
    return nn.Sequential(
        gaussian(nn.Conv2d(3, 32, 5, padding=2), 0.0001),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.ReLU(inplace=True),
        gaussian(nn.Conv2d(32, 32, 5, padding=2), 0.01),
        nn.ReLU(inplace=True),
        nn.AvgPool2d(3, 2, ceil_mode=True),
        gaussian(nn.Conv2d(32, 64, 5, padding=2), 0.01),
        nn.ReLU(inplace=True),
        nn.AvgPool2d(3, 2, ceil_mode=True),
        nn.Flatten(),
        gaussian(nn.Linear(1024, 64), 0.1),
        gaussian(nn.Linear(64, 10), 0.1),
    )


def caffenet(nn):
    """Alpha means the same in both LRNs: it is divided by the size of the window.

    Dropout is not in place, since the ReLU before it needs its output in backward.
    """
    return nn.Sequential(
        gaussian(nn.Conv2d(3, 96, 11, stride=4), 0.01),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.LocalResponseNorm(5, alpha=0.0001, beta=0.75, k=1),
        gaussian(nn.Conv2d(96, 256, 5, padding=2, groups=2), 0.01, 1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.LocalResponseNorm(5, alpha=0.0001, beta=0.75, k=1),
        gaussian(nn.Conv2d(256, 384, 3, padding=1), 0.01),
        nn.ReLU(inplace=True),
        gaussian(nn.Conv2d(384, 384, 3, padding=1, groups=2), 0.01, 1),
        nn.ReLU(inplace=True),
        gaussian(nn.Conv2d(384, 256, 3, padding=1, groups=2), 0.01, 1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.Flatten(),
        gaussian(nn.Linear(9216, 4096), 0.005, 1),
        nn.ReLU(inplace=True),
        nn.Dropout(0.5),
        gaussian(nn.Linear(4096, 4096), 0.005, 1),
        nn.ReLU(inplace=True),
        nn.Dropout(0.5),
        gaussian(nn.Linear(4096, 1000), 0.01),
    )


BUILDERS = {"lenet": lenet, "cifar10_quick": cifar10_quick, "caffenet": caffenet}


# ---------------------------------------------------------------- PyTorch: the measurement


def peak_rss_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def import_torch(threads):
    try:
        import torch
    except ImportError as error:
        sys.exit(f"training_step.py: {error}: give --python a Python that has torch")
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    return torch


def multiply_adds(torch, model, image):
    """Forward multiply-adds of one image, layer by layer, for the layers that have weights.

    Each output value is a product over all inputs that one row (or filter) of the weights sees.
    """
    counts = []

    def count(layer, _, output):
        counts.append(output[0].numel() * layer.weight[0].numel())

    hooks = [m.register_forward_hook(count) for m in model if hasattr(m, "weight")]
    with torch.no_grad():
        model(torch.zeros(1, *image))
    for hook in hooks:
        hook.remove()
    return counts


def flops_per_image_step(counts):
    return 2 * (3 * sum(counts) - counts[0])


def optimizer_for(torch, model, net):
    """Caffe's custom for these nets: biases learn at twice the rate, in CaffeNet without decay.

    The fused update reads and writes each parameter once, and is PyTorch's fastest.
    """
    weights = [p for p in model.parameters() if p.dim() > 1]
    biases = [p for p in model.parameters() if p.dim() == 1]
    groups = [
        {"params": weights},
        {
            "params": biases,
            "lr": 2 * net.rate,
            "weight_decay": net.weight_decay if net.decay_biases else 0,
        },
    ]
    return torch.optim.SGD(
        groups, lr=net.rate, momentum=MOMENTUM, weight_decay=net.weight_decay, fused=True
    )


def measure_torch(name, layout, batch, iterations, threads):
    """Times PyTorch's training step and returns what the C++ program prints, and a little more."""
    torch = import_torch(threads)
    baseline = peak_rss_bytes()
    net = NETS[name]
    model = BUILDERS[name](torch.nn)
    counts = multiply_adds(torch, model, net.image)
    images = torch.randn(batch, *net.image)
    labels = torch.randint(net.classes, (batch,))
    if layout == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    model.train()
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = optimizer_for(torch, model, net)

    def step():
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(WARM_UP):
        step()
    start = time.perf_counter()
    for _ in range(iterations):
        loss = step()
    seconds = time.perf_counter() - start
    return {
        "net": name,
        "batch": batch,
        "iterations": iterations,
        "seconds": seconds,
        "images_per_second": batch * iterations / seconds,
        "peak_rss_bytes": peak_rss_bytes(),
        "baseline_rss_bytes": baseline,
        "flops_per_image_step": flops_per_image_step(counts),
        "parameters": sum(p.numel() for p in model.parameters()),
        "loss": loss.item(),
        "torch": torch.__version__,
    }


def best_rate(run, operations, seconds):
    """The best operations per second of `run` in about so many seconds."""
    best = 0.0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = max(best, operations / (time.perf_counter() - start))
    return best


def measure_torch_peak(threads, seconds=0.7):
    """The best rate of a float matrix product, over some sizes, each timed for `seconds`.

    PyTorch multiplies matrices with MKL, which on some processors stays far below oneDNN, the
    library of its convolutions. So both are tried: a peak that a net exceeds would be none.
    """
    torch = import_torch(threads)
    best = 0.0
    for n in (1024, 1536, 2048):
        a, b, c = (torch.randn(n, n) for _ in range(3))
        best = max(best, best_rate(lambda: torch.mm(a, b, out=c), 2 * n**3, seconds))
        if torch.backends.mkldnn.is_available():
            a, b = a.to_mkldnn(), b.to_mkldnn()
            linear = torch.nn.functional.linear
            best = max(best, best_rate(lambda: linear(a, b), 2 * n**3, seconds))
    return {"gflops": best / 1e9}


# ---------------------------------------------------------------- the rounds


class Engine(NamedTuple):
    """A way to run a step: the key of its results, and its commands."""

    key: str
    step: list  # takes the net's name as next argument
    options: list
    peak: list


def engines(arguments):
    result = []
    if "pytorch" in arguments.engines:
        this = [arguments.python, os.path.abspath(__file__)]
        for layout in LAYOUTS:
            result.append(
                Engine(f"pytorch {layout}", this + ["--torch"], ["--layout", layout],
                       this + ["--torch_peak"])
            )
    if "crema" in arguments.engines:
        program = [arguments.crema]
        result.append(Engine("crema", program + ["--net"], [], program + ["--sgemm_peak"]))
    return result


def run_json(command, threads):
    """Runs a command in the repository's root; its last line of output is the result."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        return json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError) as error:
        sys.exit(f"training_step.py: {' '.join(command)}: {error}")


def run_step(engine, name, arguments):
    net = NETS[name]
    command = engine.step + [
        name,
        *engine.options,
        "--batch", str(arguments.batch or net.batch),
        "--iterations", str(arguments.iterations or net.iterations),
        "--threads", str(arguments.threads),
    ]
    return run_json(command, arguments.threads)


def run_peak(all_engines, arguments):
    """One matrix-product measurement for each library; the layouts of PyTorch share theirs."""
    commands = {tuple(e.peak): e for e in all_engines}.values()
    threads = ["--threads", str(arguments.threads)]
    return max(run_json(e.peak + threads, arguments.threads)["gflops"] for e in commands)


def run_rounds(all_engines, arguments):
    """Returns the peak in GFLOP/s and, for each net and engine, the results of all rounds."""
    peak = 0.0
    results = {name: {e.key: [] for e in all_engines} for name in arguments.nets}
    for number in range(arguments.rounds):
        peak = max(peak, run_peak(all_engines, arguments))
        order = all_engines if number % 2 == 0 else all_engines[::-1]
        for name in arguments.nets:
            for engine in order:
                results[name][engine.key].append(run_step(engine, name, arguments))
        print(f"round {number + 1} of {arguments.rounds} done", file=sys.stderr)
    return peak, results


# ---------------------------------------------------------------- the report


def summary(runs, peak):
    """The figures of one engine on one net, from all its rounds."""
    rates = [run["images_per_second"] for run in runs]
    rate = statistics.median(rates)
    first = runs[0]
    gflops = rate * first["flops_per_image_step"] / 1e9
    growths = [r["peak_rss_bytes"] - r["baseline_rss_bytes"] for r in runs
               if "baseline_rss_bytes" in r]
    return {
        "batch": first["batch"],
        "iterations": first["iterations"],
        "images_per_second": rate,
        "images_per_second_min": min(rates),
        "images_per_second_max": max(rates),
        "milliseconds_per_step": 1000 * first["batch"] / rate,
        "gflops": gflops,
        "percent_of_peak": 100 * gflops / peak,
        "peak_rss_bytes": int(statistics.median(r["peak_rss_bytes"] for r in runs)),
        "rss_growth_bytes": int(statistics.median(growths)) if growths else None,
        "flops_per_image_step": first["flops_per_image_step"],
        "runs": runs,
    }


def best_of_pytorch(summaries):
    """The summary of PyTorch's faster layout, or None where PyTorch did not run."""
    candidates = [s for key, s in summaries.items() if key.startswith("pytorch")]
    return max(candidates, key=lambda s: s["images_per_second"], default=None)


def compare(summaries):
    """Crema against the best of PyTorch, as ratios: above 1 is in Crema's favour."""
    crema, pytorch = summaries.get("crema"), best_of_pytorch(summaries)
    if not crema or not pytorch:
        return None
    return {
        "speed": crema["images_per_second"] / pytorch["images_per_second"],
        "memory": pytorch["peak_rss_bytes"] / crema["peak_rss_bytes"],
        "same_work": crema["flops_per_image_step"] == pytorch["flops_per_image_step"],
    }


def report(arguments, peak, results):
    nets = {
        name: {key: summary(runs, peak) for key, runs in of_engine.items()}
        for name, of_engine in results.items()
    }
    return {
        "processor": processor(),
        "threads": arguments.threads,
        "rounds": arguments.rounds,
        "sgemm_peak_gflops": peak,
        "nets": nets,
        "crema_to_pytorch": {name: compare(summaries) for name, summaries in nets.items()},
    }


def processor():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def mebibytes(count):
    return "-" if count is None else f"{count / 2**20:.0f}"


def print_report(data):
    print(f"{data['processor']}, {data['threads']} threads, {data['rounds']} rounds, "
          f"sgemm peak {data['sgemm_peak_gflops']:.0f} GFLOP/s")
    print(f"{'net':14} {'engine':22} {'images/s':>10} {'min':>9} {'max':>9} {'ms/step':>9} "
          f"{'GFLOP/s':>8} {'% peak':>6} {'RSS MiB':>8} {'growth':>7}")
    for name, summaries in data["nets"].items():
        for key, s in summaries.items():
            print(f"{name:14} {key:22} {s['images_per_second']:10.1f} "
                  f"{s['images_per_second_min']:9.1f} {s['images_per_second_max']:9.1f} "
                  f"{s['milliseconds_per_step']:9.2f} {s['gflops']:8.1f} "
                  f"{s['percent_of_peak']:6.1f} {mebibytes(s['peak_rss_bytes']):>8} "
                  f"{mebibytes(s['rss_growth_bytes']):>7}")
    for name, ratio in data["crema_to_pytorch"].items():
        if ratio is None:
            continue
        print(f"{name}: Crema trains at {ratio['speed']:.2f} times PyTorch's speed; PyTorch's peak "
              f"memory is {ratio['memory']:.2f} times Crema's")
        if not ratio["same_work"]:
            print(f"{name}: WARNING: the engines count different work; the nets are not the same")


# ---------------------------------------------------------------- the command line


def positive(text):
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def parse_arguments():
    parser = argparse.ArgumentParser(
        description="Compares a training step of Crema with PyTorch's on the CPU.",
        epilog="README.md beside this file says what is measured and what is not.",
    )
    parser.add_argument("--nets", nargs="+", choices=NETS, default=list(NETS), metavar="NET",
                        help=f"nets to run, of {', '.join(NETS)} (default: all)")
    parser.add_argument("--engines", nargs="+", choices=("crema", "pytorch"),
                        default=["crema", "pytorch"], help="engines to run (default: both)")
    parser.add_argument("--threads", type=positive, default=2,
                        help="threads for each engine (default: %(default)s)")
    parser.add_argument("--rounds", type=positive, default=5,
                        help="how often each engine runs each net (default: %(default)s)")
    parser.add_argument("--batch", type=positive, help="batch size (default: the net's)")
    parser.add_argument("--iterations", type=positive,
                        help="timed steps of each run (default: the net's, for a few seconds)")
    parser.add_argument("--python", default=sys.executable,
                        help="a Python that has torch (default: the one that runs this script)")
    parser.add_argument("--crema", default=str(ROOT / PROGRAM),
                        help=f"Crema's program (default: {PROGRAM})")
    parser.add_argument("--json", metavar="FILE", help="also write all figures to FILE")
    child = parser.add_argument_group("one PyTorch measurement (how the script calls itself)")
    child.add_argument("--torch", choices=NETS, metavar="NET", help="time NET; print one JSON line")
    child.add_argument("--torch_peak", action="store_true",
                       help="time matrix products; print one JSON line")
    child.add_argument("--layout", choices=LAYOUTS, default=LAYOUTS[0],
                       help="memory layout of images and filters (default: %(default)s)")
    arguments = parser.parse_args()
    arguments.crema = os.path.abspath(arguments.crema)  # commands run in the repository's root
    if os.sep in arguments.python:
        arguments.python = os.path.abspath(arguments.python)
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.torch:
        net = NETS[arguments.torch]
        print(json.dumps(measure_torch(
            arguments.torch, arguments.layout, arguments.batch or net.batch,
            arguments.iterations or net.iterations, arguments.threads)))
        return
    if arguments.torch_peak:
        print(json.dumps(measure_torch_peak(arguments.threads)))
        return
    if "crema" in arguments.engines and not os.path.exists(arguments.crema):
        sys.exit(f"training_step.py: no {arguments.crema}: build with -DCREMA_BENCHMARKS=ON, "
                 "or give --crema PROGRAM or --engines pytorch")
    peak, results = run_rounds(engines(arguments), arguments)
    data = report(arguments, peak, results)
    print_report(data)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
