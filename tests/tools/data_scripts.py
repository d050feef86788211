#!/usr/bin/env python3
"""The prepare scripts of data/, on small archives of the official form: what they make fits the nets of models/, they can
be run again, and say what is wrong with archives.

  tests/tools/data_scripts.py --build BUILD [unittest's arguments]
"""

import gzip
import io
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import tarfile
import time
import unittest
import zlib

import harness
from harness import ToolTest, png, read, run, tool_path, write

DATA = os.path.join(harness.SOURCE, "data")
MODELS = os.path.join(harness.SOURCE, "models")


def idx(shape, values):
    return struct.pack(">BBBB", 0, 0, 8, len(shape)) + struct.pack(f">{len(shape)}I", *shape) + bytes(values)


def tar(members, mode="w"):
    """An archive of {name: contents}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=tarfile.GNU_FORMAT) as archive:
        for name, contents in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(contents)
            archive.addfile(info, io.BytesIO(contents))
    return out.getvalue()


class Script(ToolTest):
    """Runs in a folder that looks like the repository's root, with data sets as --from or another flag says."""

    def prepare(self, name, *arguments, code=0):
        environment = dict(os.environ, CREMA_TOOLS=os.path.dirname(tool_path("train")))
        done = subprocess.run([os.path.join(DATA, name, "prepare"), *arguments], capture_output=True, text=True, timeout=100,
                              env=environment)
        self.assertEqual(done.returncode, code, done)
        self.assertEqual([path for path in harness.files_below() if ".prepare-" in path or ".part" in path], [])
        return done

    def refuse(self, name, *arguments, says):
        """Exit code 1, the reason in the last line; nothing new is there."""
        before = harness.files_below()
        done = self.prepare(name, *arguments, code=1)
        self.assertRegex(done.stderr.splitlines()[-1], says)
        self.assertEqual(harness.files_below(), before)

    def check_again(self, name, *arguments):
        """A second run keeps all."""
        before = {path: os.stat(path).st_mtime_ns for path in harness.files_below()}
        done = self.prepare(name, *arguments)
        self.assertEqual({path: os.stat(path).st_mtime_ns for path in harness.files_below()}, before)
        self.assertRegex(done.stdout, "^(.*: exists\n)+$")

    def check_net(self, model, expected):
        """The net finds its data and they fit, whatever the batch."""
        if not os.path.exists("models"):
            os.symlink(MODELS, "models")
        for phase in ("TRAIN", "TEST"):
            result = self.assert_success(run("describe-net", "--model", f"models/{model}/train_val.prototxt", "--phase", phase))
            self.assertRegex(result.out, rf"Data +\d+x{expected} ")

    def records(self, path):
        return int(re.search(r"Processed (\d+) files", self.assert_success(run("compute-image-mean", path)).err)[1])


class Idx(Script):
    def setUp(self):
        super().setUp()
        noise = random.Random(1)
        for kind, count in (("train", 30), ("t10k", 20)):
            write(f"in/{kind}-images-idx3-ubyte.gz", gzip.compress(idx((count, 28, 28), noise.randbytes(count * 784))))
            write(f"in/{kind}-labels-idx1-ubyte", idx((count,), (i % 10 for i in range(count))))

    def test_fashion(self):
        arguments = ("fashion-mnist", "--from", "in", "--no_checksum", "--pairs", "data/fashion-mnist")
        self.prepare(*arguments)
        self.assertEqual(self.records("data/fashion-mnist/fashion_train_lmdb"), 30)
        self.assertEqual(self.records("data/fashion-mnist/fashion_test_pairs_lmdb"), 20)
        self.check_again(*arguments)
        self.check_net("lenet", "1x28x28")
        self.check_net("siamese", "2x28x28")
        self.check_net("autoencoder", "1x28x28")

    def test_mnist(self):
        self.prepare("mnist", "--from=in", "--no_checksum", "out")
        self.assertEqual(sorted(os.listdir("out")), ["mnist_test_lmdb", "mnist_train_lmdb"])
        self.assertEqual(self.records("out/mnist_test_lmdb"), 20)

    def test_resumed(self):
        """Only what is missing is made."""
        self.prepare("mnist", "--from=in", "--no_checksum", "out")
        shutil.rmtree("out/mnist_test_lmdb")
        done = self.prepare("mnist", "--from=in", "--no_checksum", "out")
        self.assertEqual(done.stdout, "out/mnist_train_lmdb: exists\nout/mnist_test_lmdb: 20 records\n")

    def test_errors(self):
        os.mkdir("out")
        self.refuse("mnist", "--from", "in", "out",
                    says=r"in/train-images-idx3-ubyte.gz is not MNIST's train-images-idx3-ubyte \(SHA-256 of the contents: \w{64}\)")
        self.refuse("mnist", "--from", "gone", "out", says="gone is not a folder")
        packed = read("in/train-images-idx3-ubyte.gz")
        write("in/train-images-idx3-ubyte.gz", packed[:-1000])
        self.refuse("mnist", "--from", "in", "--no_checksum", "out", says="cannot unpack in/train-images-idx3-ubyte.gz")
        write("in/train-images-idx3-ubyte.gz", packed)
        write("in/train-labels-idx1-ubyte", idx((29,), bytes(29)))
        self.refuse("mnist", "--from", "in", "--no_checksum", "out", says="30 images in .*, but 29 labels in ")
        os.remove("in/train-labels-idx1-ubyte")
        self.refuse("fashion-mnist", "--from", "in", "--no_checksum", "out",
                    says="in holds neither train-labels-idx1-ubyte.gz nor train-labels-idx1-ubyte")
        self.prepare("mnist", "--frm", "in", "out", code=2)
        self.assertIn("--from FOLDER", self.prepare("mnist", "--help").stdout)


class Cifar(Script):
    def setUp(self):
        super().setUp()
        noise = random.Random(2)
        members = {"cifar-10-batches-bin/batches.meta.txt": b"airplane\nautomobile\n\n"}
        for name in [*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]:
            members[f"cifar-10-batches-bin/{name}"] = b"".join(bytes([noise.randrange(10)]) + noise.randbytes(3072)
                                                              for _ in range(4))
        write("in/cifar-10-binary.tar.gz", tar(members, "w:gz"))
        members = {"cifar-100-binary/fine_label_names.txt": b"apple\n", "cifar-100-binary/coarse_label_names.txt": b"fruit\n"}
        for name, count in (("train.bin", 7), ("test.bin", 3)):
            members[f"cifar-100-binary/{name}"] = b"".join(
                bytes([noise.randrange(20), noise.randrange(100)]) + noise.randbytes(3072) for _ in range(count))
        write("in/cifar-100-binary.tar.gz", tar(members, "w:gz"))

    def test_cifar10(self):
        arguments = ("cifar10", "--from", "in/cifar-10-binary.tar.gz", "--no_checksum", "data/cifar10")
        self.prepare(*arguments)
        self.assertEqual(sorted(os.listdir("data/cifar10")), ["cifar10_test_lmdb", "cifar10_train_lmdb", "mean.binaryproto"])
        self.assertEqual(self.records("data/cifar10/cifar10_train_lmdb"), 20)
        self.assertEqual(self.records("data/cifar10/cifar10_test_lmdb"), 4)
        self.check_again(*arguments)
        self.check_net("cifar10_quick", "3x32x32")
        solver = read("models/cifar10_quick/solver.prototxt").decode().replace("max_iter: 5000", "max_iter: 2")
        write("solver.prototxt", re.sub(r"test_iter: \d+", "test_iter: 1", solver))
        os.mkdir("out")
        self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1))
        result = self.assert_success(run("test", "--solver", "solver.prototxt", "--snapshot", "auto", "--threads", 1))
        self.assertIn("accuracy = ", result.err)

    def test_resumed(self):
        """What a killed run left goes, what is missing is made."""
        arguments = ("cifar10", "--from", "in", "--no_checksum", "out")
        self.prepare(*arguments)
        shutil.rmtree("out/cifar10_test_lmdb")
        os.remove("out/mean.binaryproto")
        os.makedirs("out/.prepare-abcdef/cifar-10-batches-bin")
        done = self.prepare(*arguments)
        self.assertIn("out/cifar10_train_lmdb: exists\n", done.stdout)
        self.assertEqual(sorted(os.listdir("out")), ["cifar10_test_lmdb", "cifar10_train_lmdb", "mean.binaryproto"])

    def test_unpacked(self):
        with tarfile.open("in/cifar-10-binary.tar.gz") as archive:
            archive.extractall("in")
        self.prepare("cifar10", "--from", "in/cifar-10-batches-bin", "out")
        self.assertEqual(self.records("out/cifar10_train_lmdb"), 20)

    def test_cifar100(self):
        for label, names in (("fine", b"apple\n"), ("coarse", b"fruit\n"), ("both", b"apple\n")):
            self.prepare("cifar100", "--from", "in", "--label", label, "--no_checksum", label)
            self.assertEqual(self.records(f"{label}/cifar100_train_lmdb"), 7)
            self.assertEqual(read(f"{label}/cifar100_test_lmdb/labels.txt"), names)

    def test_errors(self):
        os.mkdir("out")
        archive = read("in/cifar-10-binary.tar.gz")
        self.refuse("cifar10", "--from", "in", "out",
                    says=r"in/cifar-10-binary.tar.gz is cut short: it has \d+ bytes, CIFAR-10's cifar-10-binary.tar.gz has 170052171")
        with open("in/cifar-10-binary.tar.gz", "r+b") as file:
            file.truncate(170052171)
        self.refuse("cifar10", "--from", "in", "out", says="is not CIFAR-10's cifar-10-binary.tar.gz .its MD5 is ")
        write("in/cifar-10-binary.tar.gz", archive[:-3000])
        self.refuse("cifar10", "--from", "in", "--no_checksum", "out", says="cannot unpack in/cifar-10-binary.tar.gz")
        write("in/cifar-10-binary.tar.gz", tar({"cifar-10-batches-py/data_batch_1": b"x"}, "w:gz"))
        self.refuse("cifar10", "--from", "in", "--no_checksum", "out",
                    says="holds no data_batch_1.bin; the binary version is needed")
        write("in/cifar-10-binary.tar.gz", tar({"cifar-10-batches-bin/data_batch_1.bin": bytes(3073)}, "w:gz"))
        self.refuse("cifar10", "--from", "in", "--no_checksum", "out", says="data_batch_2.bin: No such file")
        self.refuse("cifar10", "--from", "out", "out", says="out holds neither cifar-10-binary.tar.gz nor data_batch_1.bin")
        self.refuse("cifar10", "--from", "gone", "out", says="gone does not exist")
        self.prepare("cifar10", "--label", "fine", "out", code=2)


def mat_element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def mat_matrix(array_class, shape, name, *parts):
    body = mat_element(6, struct.pack("<II", array_class, 0)) + mat_element(5, struct.pack(f"<{len(shape)}i", *shape))
    return mat_element(14, body + mat_element(1, name.encode()) + b"".join(parts))


def meta_mat(synsets):
    """meta.mat of [(number, synset, children)], as MATLAB's level 5 has it."""
    def number(value):
        # A small element: type and size in one word.
        return mat_matrix(6, (1, 1), "", struct.pack("<I", 4 << 16 | 4) + struct.pack("<HH", value, 0)[:4])

    fields = ["ILSVRC2012_ID", "WNID", "num_children"]
    parts = [struct.pack("<I", 4 << 16 | 5) + struct.pack("<i", 32), mat_element(1, b"".join(f.encode().ljust(32, b"\0") for f in fields))]
    for identity, name, children in synsets:
        parts += [number(identity), mat_matrix(4, (1, len(name)), "", mat_element(4, name.encode("utf-16-le"))), number(children)]
    packed = zlib.compress(mat_matrix(2, (len(synsets), 1), "synsets", *parts))
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(packed)) + packed


class ImageNet(Script):
    SYNSETS = ["n01440764", "n01443537", "n02119789"]  # numbers 3, 1, 2 in the kit

    def setUp(self):
        super().setUp()
        self.outer = {f"{synset}.tar": tar({f"{synset}_{n}.JPEG": png(20 + n, 30, 3 if n else 1) for n in range(4)})
                      for synset in self.SYNSETS}
        self.kit = {"ILSVRC2012_devkit_t12/data/meta.mat":
                    meta_mat([(3, "n01440764", 0), (1, "n01443537", 0), (2, "n02119789", 0), (4, "n00001740", 3)]),
                    "ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt": b"1\n2\n3\n3\n1\n"}
        self.write_archives()

    def write_archives(self):
        write("in/ILSVRC2012_img_train.tar", tar(self.outer))
        write("in/ILSVRC2012_img_val.tar", tar({f"ILSVRC2012_val_{n:08}.JPEG": png(40, 25) for n in (2, 1, 3, 4, 5)}))
        write("in/ILSVRC2012_devkit_t12.tar.gz", tar(self.kit, "w:gz"))

    ARGUMENTS = ("imagenet", "--from", "in", "--no_checksum", "data/imagenet")

    def test_whole(self):
        self.prepare(*self.ARGUMENTS)
        self.assertEqual(sorted(os.listdir("data/imagenet")),
                         ["ilsvrc12_train_lmdb", "ilsvrc12_val_lmdb", "imagenet_mean.binaryproto", "synsets.txt", "train.txt",
                          "val.txt"])
        self.assertEqual(read("data/imagenet/synsets.txt").decode().split(), self.SYNSETS)
        self.assertEqual(read("data/imagenet/val.txt").decode(),
                         "".join(f"ILSVRC2012_val_{n:08}.JPEG {label}\n" for n, label in zip(range(1, 6), (1, 2, 0, 0, 1))))
        train = read("data/imagenet/train.txt").decode().splitlines()
        self.assertEqual(len(train), 12)
        self.assertEqual(train[0], "n01440764/n01440764_0.JPEG 0")
        self.assertEqual(train[11], "n02119789/n02119789_3.JPEG 2")
        self.assertEqual(self.records("data/imagenet/ilsvrc12_train_lmdb"), 12)
        self.assertEqual(self.records("data/imagenet/ilsvrc12_val_lmdb"), 5)
        self.check_again(*self.ARGUMENTS)
        for model in ("caffenet", "alexnet", "squeezenet"):
            self.check_net(model, "3x227x227")
        for model in ("resnet50", "mobilenet", "googlenet"):
            self.check_net(model, "3x224x224")

    def test_shuffled(self):
        """The order of the training images is random, that of the others is the list's."""
        self.prepare("imagenet", "--from", "in", "--no_checksum", "--size", "32", "--encoded", "out")
        keys = re.findall(rb"\d{8}_n\d{8}/n\d{8}_\d\.JPEG", read("out/ilsvrc12_train_lmdb/data.mdb"))
        names = [key[9:].decode() for key in sorted(set(keys))]
        listed = [line.split()[0] for line in read("out/train.txt").decode().splitlines()]
        self.assertEqual(sorted(names), sorted(listed))
        self.assertNotEqual(names, listed)
        self.assertIn(b"00000004_ILSVRC2012_val_00000005.JPEG", read("out/ilsvrc12_val_lmdb/data.mdb"))
        self.assertIn(b"JFIF", read("out/ilsvrc12_train_lmdb/data.mdb"))

    def test_resumed(self):
        self.prepare(*self.ARGUMENTS)
        shutil.rmtree("data/imagenet/ilsvrc12_train_lmdb")
        os.remove("data/imagenet/imagenet_mean.binaryproto")
        done = self.prepare(*self.ARGUMENTS)
        self.assertNotIn("listing the images", done.stdout)
        self.assertIn("data/imagenet/ilsvrc12_val_lmdb: exists\n", done.stdout)
        self.assertEqual(self.records("data/imagenet/ilsvrc12_train_lmdb"), 12)

    def test_killed(self):
        """At any moment: the next run gets there."""
        moments = random.Random(3)
        for _ in range(6):
            process = subprocess.Popen([os.path.join(DATA, "imagenet", "prepare"), *self.ARGUMENTS[1:]], start_new_session=True,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=dict(os.environ, CREMA_TOOLS=os.path.dirname(tool_path("train"))))
            time.sleep(moments.random() * 0.8)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for name in os.listdir("data/imagenet") if os.path.exists("data/imagenet") else []:
            if name.endswith(".part"):
                os.remove(f"data/imagenet/{name}")
        self.prepare(*self.ARGUMENTS)
        self.assertEqual(self.records("data/imagenet/ilsvrc12_train_lmdb"), 12)
        self.assertEqual([name for name in harness.files_below("data") if "INCOMPLETE" in name], [])

    def test_errors(self):
        os.mkdir("out")

        def refuse(says, *flags):
            self.refuse("imagenet", "--from", "in", *flags, "out", says=says)

        refuse(r"in/ILSVRC2012_img_train.tar has \d+ bytes, ILSVRC2012_img_train.tar has 147897477120; it is cut short")
        train, val, kit = (f"in/ILSVRC2012_{name}" for name in ("img_train.tar", "img_val.tar", "devkit_t12.tar.gz"))
        whole = {name: read(name) for name in (train, val, kit)}
        unchecked = "--no_checksum"
        write(train, whole[train][:15000])
        refuse("cannot read in/ILSVRC2012_img_train.tar: .*; is it truncated", unchecked)
        write(train, tar({"n01440764_1.JPEG": png()}))
        refuse("in/ILSVRC2012_img_train.tar holds n01440764_1.JPEG, where an archive a class is expected", unchecked)
        write(train, tar({**self.outer, "n02119789.tar": tar({})}))
        refuse("n02119789.tar in in/ILSVRC2012_img_train.tar holds no images", unchecked)
        write(train, tar({name: one for name, one in self.outer.items() if name != "n01443537.tar"}))
        refuse("has 2 classes, in/ILSVRC2012_devkit_t12.tar.gz 3: n01443537.tar is missing", unchecked)
        write(train, tar({**self.outer, "n09999999.tar": self.outer["n01443537.tar"]}))
        refuse("has a class n09999999, which in/ILSVRC2012_devkit_t12.tar.gz does not know", unchecked)
        write(train, whole[train])
        write(val, tar({"ILSVRC2012_val_00000001.JPEG": png()}))
        refuse("in/ILSVRC2012_img_val.tar has 1 images, in/ILSVRC2012_devkit_t12.tar.gz labels for 5", unchecked)
        write(val, whole[val])
        write(kit, whole[kit][:200])
        refuse("cannot read in/ILSVRC2012_devkit_t12.tar.gz", unchecked)
        write(kit, tar({**self.kit, "ILSVRC2012_devkit_t12/data/meta.mat": b"x" * 500}, "w:gz"))
        refuse("cannot read in/ILSVRC2012_devkit_t12.tar.gz: it is no MATLAB file of level 5", unchecked)
        os.remove(kit)
        refuse("in/ILSVRC2012_devkit_t12.tar.gz does not exist; .* image-net.org, after registration", unchecked)


class Shapes(Script):
    def test_shapes(self):
        arguments = ("shapes", "--train", "60", "--test=40", "data/shapes")
        self.prepare(*arguments)
        self.assertEqual(self.records("data/shapes/shapes_train_lmdb"), 60)
        self.assertEqual(self.records("data/shapes/shapes_test_lmdb"), 40)
        self.assertEqual(len(read("data/shapes/shapes_test_lmdb/boxes.csv").splitlines()), 41)
        self.check_again(*arguments)
        self.check_net("shapes", "3x64x64")
        self.prepare("shapes", "--trian", "60", code=2)


if __name__ == "__main__":
    harness.main()
