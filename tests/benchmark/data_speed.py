#!/usr/bin/env python3
"""Records a second of Crema's data layers, of a bare loop over the same source, and of PyTorch's DataLoader.

  tests/benchmark/data_speed.py --build build --python PYTHON [--folder DIR] [--works raw,jpeg] [--json FILE]

PYTHON is one that has torch, torchvision, lmdb, protobuf, numpy and h5py; the script itself needs nothing but the
standard library. Engines alternate for --rounds; medians count. README.md beside this file says what is measured.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

WORKS = {
    "raw": "LMDB of 1x28x28, scaled; batch 64",
    "jpeg": "LMDB of JPEG 256x256: crop 227, mirror, mean; batch 32",
    "list": "image list of the same JPEGs; batch 32",
    "hdf5": "HDF5 of 1x28x28 floats; batch 64",
}
BATCH = {"raw": 64, "jpeg": 32, "list": 32, "hdf5": 64}
SCHEMA = 'syntax = "proto2"; message Datum { optional bytes data = 4; optional int32 label = 5; }'


def torch_side(arguments):
    """Runs in PYTHON: prints one line of JSON."""
    import h5py
    import lmdb
    import numpy
    import torch
    import torchvision
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    sys.path.insert(0, arguments.folder)
    import speed_datum_pb2

    augment = v2.Compose([v2.RandomCrop(227), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32),
                          v2.Normalize([123.0, 117.0, 104.0], [1.0, 1.0, 1.0])])

    class Records(torch.utils.data.Dataset):
        def __init__(self):
            self.opened = None
            if arguments.work == "list":
                with open(os.path.join(arguments.folder, "list.txt")) as lines:
                    self.lines = [line.split() for line in lines]
                self.count = len(self.lines)
            elif arguments.work == "hdf5":
                with h5py.File(os.path.join(arguments.folder, "rows.h5")) as file:
                    self.count = len(file["label"])
            else:
                with lmdb.open(os.path.join(arguments.folder, arguments.work), readonly=True, lock=False) as db:
                    self.count = db.stat()["entries"]

        def __len__(self):
            return self.count

        def __getitem__(self, i):
            if arguments.work == "list":
                name, label = self.lines[i]
                return augment(torchvision.io.decode_image(os.path.join(arguments.folder, name))), int(label)
            if arguments.work == "hdf5":
                if self.opened is None:
                    self.opened = h5py.File(os.path.join(arguments.folder, "rows.h5"))
                return torch.from_numpy(self.opened["data"][i]), float(self.opened["label"][i])
            if self.opened is None:
                self.opened = lmdb.open(os.path.join(arguments.folder, arguments.work), readonly=True,
                                        lock=False).begin(buffers=True)
            key = f"{i:08}" + (".jpg" if arguments.work == "jpeg" else "")
            datum = speed_datum_pb2.Datum.FromString(bytes(self.opened.get(key.encode())))
            if arguments.work == "jpeg":
                file = torch.frombuffer(bytearray(datum.data), dtype=torch.uint8)
                return augment(torchvision.io.decode_jpeg(file)), datum.label
            pixels = numpy.frombuffer(datum.data, numpy.uint8).reshape(1, 28, 28)
            return torch.from_numpy(pixels.astype(numpy.float32) / 256), datum.label

    loader = torch.utils.data.DataLoader(Records(), BATCH[arguments.work], num_workers=arguments.threads,
                                         drop_last=True, persistent_workers=True)

    def batches():
        while True:
            yield from loader

    stream, records = batches(), 0
    for warm_up in range(20):
        next(stream)
    begin = time.monotonic()
    while time.monotonic() - begin < arguments.seconds:
        records += len(next(stream)[1])
    print(json.dumps({"records_per_second": records / (time.monotonic() - begin)}))


def line_of(command):
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="build folder, made with -DCREMA_BENCHMARKS=ON")
    parser.add_argument("--python", default="", help="a Python with torch and torchvision; without: leave them out")
    parser.add_argument("--folder", default="", help="where to make the sources, or where they are already")
    parser.add_argument("--works", default=",".join(WORKS), help="which of " + ", ".join(WORKS))
    parser.add_argument("--threads", type=int, default=1, help="worker threads, or processes of PyTorch's")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement")
    parser.add_argument("--json", default="", help="write the figures there too")
    parser.add_argument("--torch", dest="work", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        torch_side(arguments)
        return
    program = os.path.join(arguments.build, "tests", "benchmark", "data_speed")
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or scratch
        if not os.path.exists(os.path.join(folder, "list.txt")):
            os.makedirs(folder, exist_ok=True)
            subprocess.run([program, "--engine", "make", "--folder", folder], check=True)
        if arguments.python:
            with open(os.path.join(folder, "speed_datum.proto"), "w") as schema:
                schema.write(SCHEMA)
            subprocess.run(["protoc", f"--python_out={folder}", f"-I{folder}", "speed_datum.proto"], check=True)
        results = {}
        common = ["--folder", folder, "--threads", str(arguments.threads), "--seconds", str(arguments.seconds)]
        for work in arguments.works.split(","):
            engines = {
                "floor": [program, "--engine", "floor", "--work", work, *common],
                "crema": [program, "--engine", "crema", "--work", work, *common],
            }
            if arguments.python:
                engines["torch"] = [arguments.python, "-W", "ignore", os.path.abspath(__file__), "--torch", work, *common]
            lines = {engine: [] for engine in engines}
            for _ in range(arguments.rounds):
                for engine, command in engines.items():
                    lines[engine].append(line_of(command))
            results[work] = {engine: {key: statistics.median(line[key] for line in found) for key in found[0]
                                      if isinstance(found[0][key], float)} for engine, found in lines.items()}
            show(work, results[work])
        if arguments.json:
            with open(arguments.json, "w") as out:
                json.dump(results, out, indent=1)


def show(work, found):
    print(f"{work}: {WORKS[work]}")
    for engine, figures in found.items():
        text = f"  {engine:6} {figures['records_per_second']:12,.0f} records/s"
        if "records_per_processor_second" in figures:
            text += f" {figures['records_per_processor_second']:12,.0f} a processor second"
            text += f" {figures['peak_mib']:6.0f} MiB"
        print(text)
    crema = found["crema"]
    share = crema["records_per_processor_second"] / found["floor"]["records_per_processor_second"]
    print(f"  of the floor, by processor time: {share:.2f}")
    if "torch" in found:
        print(f"  of PyTorch, by the clock: {crema['records_per_second'] / found['torch']['records_per_second']:.2f}")


if __name__ == "__main__":
    main()
