#!/usr/bin/env python3
"""The converters on the command line: Caffe's flags and log lines, and what is there after a kill, a signal, a full disk:
a whole data base or none.

  tests/tools/convert_tools.py --build BUILD [unittest's arguments]
"""

import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import time
import unittest

import harness
from harness import ToolTest, png, read, run, tool_path, write

KILLS = 20


def has_leveldb():
    write("probe.images", b"\0\0\x08\3\0\0\0\1\0\0\0\1\0\0\0\1x")
    write("probe.labels", b"\0\0\x08\1\0\0\0\1\0")
    made = run("convert-idx", "--backend=leveldb", "probe.images", "probe.labels", "probe").code == 0
    shutil.rmtree("probe", ignore_errors=True)
    os.remove("probe.images")
    os.remove("probe.labels")
    return made


def write_cifar(folder, records):
    """The five files and the one of CIFAR-10, of random pictures."""
    noise = random.Random(1)
    for name in [*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]:
        write(f"{folder}/{name}", b"".join(bytes([noise.randrange(10)]) + noise.randbytes(3072) for _ in range(records)))


class Flags(ToolTest):
    """Caffe's command lines and log lines."""

    def setUp(self):
        super().setUp()
        for number in range(4):
            write(f"in/{number}.png", png(3 + number, 2))
        write("list", "".join(f"{number}.png {number}\n" for number in range(4)))

    def convert(self, *flags):
        shutil.rmtree("db", ignore_errors=True)
        return self.assert_success(run("convert-imageset", *flags, "in/", "list", "db"))

    def test_forms(self):
        plain = self.convert()
        self.assertEqual(plain.log, ["A total of 4 images.", "Processed 4 files."])
        expected = read("db/data.mdb")
        for flags in (["--shuffle=false"], ["-shuffle=false", "-gray=false"], ["--noshuffle", "--backend", "lmdb"],
                      ["--backend=lmdb", "--check_size=0", "--encoded=false"], ["--resize_width=0", "--resize_height=0"]):
            with self.subTest(flags=flags):
                self.convert(*flags)
                self.assertTrue(read("db/data.mdb") == expected)

    def test_shuffle(self):
        self.convert()
        plain = read("db/data.mdb")
        shuffled = self.convert("--shuffle", "--seed=1")
        self.assertEqual(shuffled.log, ["Shuffling data", "A total of 4 images.", "Processed 4 files."])
        first = read("db/data.mdb")
        self.assertFalse(first == plain)
        self.convert("-shuffle=true", "-seed=1")
        self.assertTrue(read("db/data.mdb") == first)

    def test_encode_type_implies_encoded(self):
        result = self.convert("--encode_type=JPG")
        self.assertEqual(result.log[0], "encode_type specified, assuming encoded=true.")
        implied = read("db/data.mdb")
        self.assertIn(b"JFIF", implied)
        self.convert("--encoded", "--encode_type=jpg")
        self.assertTrue(read("db/data.mdb") == implied)

    def test_processed(self):
        """A line every 1000 records and one for the rest."""
        write("list", 2300 * "0.png 1\n")
        self.assertEqual(self.convert().log,
                         ["A total of 2300 images.", *(f"Processed {n} files." for n in (1000, 2000, 2300))])

    def test_threads(self):
        write("list", "".join(f"{number % 4}.png {number}\n" for number in range(500)))
        self.convert("--resize_height=20", "--resize_width=30", "--encode_type=jpg", "--threads=1")
        expected = read("db/data.mdb")
        for threads in (2, 5):
            self.convert("--resize_height=20", "--resize_width=30", "--encode_type=jpg", f"--threads={threads}")
            self.assertTrue(read("db/data.mdb") == expected, f"{threads} threads")

    def test_skipped(self):
        """Some are named, the others counted."""
        write("list", "0.png 0\n" + 14 * "none.png 1\n")
        result = self.convert("--skip_bad_records")
        self.assertEqual(result.out, "db: 1 records, 14 images skipped\n")
        self.assertEqual(len(result.warnings), 11)
        self.assertIn("skipped: list:2: cannot open in/none.png: No such file or directory", result.log)
        self.assertEqual(result.log[-1], "skipped: 4 more")

    def test_labels(self):
        write("list", "0.png 1 2\n1.png 3 4\n")
        self.convert("--label_count=2")
        write("list", "0.png 1 2\n1.png 3 4.5\n")
        shutil.rmtree("db")
        self.assert_error(run("convert-imageset", "--label_count=2", "in/", "list", "db"),
                          'list:2: the label "4.5" of "1.png" is not a whole number of 32 bits; --float_labels')
        self.convert("--label_count=2", "--float_labels")

    def test_archive(self):
        subprocess.run(["tar", "-cf", "in.tar", "-C", "in", *sorted(os.listdir("in"))], check=True)
        self.convert()
        expected = read("db/data.mdb")
        shutil.rmtree("db")
        self.assert_success(run("convert-imageset", "in.tar", "list", "db"))
        self.assertTrue(read("db/data.mdb") == expected)

    def test_folder(self):
        for number in range(10):
            write(f"pets/{('cat', 'dog')[number % 2]}/{number}.png", png())
        result = self.assert_success(run("convert-folder", "pets", "db"))
        self.assertEqual(result.out, "db: 10 records\n2 classes\n")
        self.assertEqual(read("db/labels.txt"), b"cat\ndog\n")
        result = self.assert_success(run("convert-folder", "--shuffle", "--encoded", "--test_fraction=0.2", "--test_db=test",
                                         "pets", "train"))
        self.assertEqual(result.out, "train: 8 records\ntest: 2 records\n2 classes\n")
        self.assert_error(run("convert-folder", "in", "new"), "folder in holds 4 images, but no sub-folders")

    def test_cifar(self):
        write_cifar("bin", 3)
        os.mkdir("out")
        result = self.assert_success(run("convert-cifar", "bin", "out", "lmdb"))
        self.assertEqual(result.out, "out: 15 records for training, 3 for tests\n")
        result = self.assert_success(run("compute-image-mean", "out/cifar10_train_lmdb"))
        self.assertIn("Processed 15 files.", result.log)
        self.assert_error(run("convert-cifar", "bin", "out"), "out/cifar10_train_lmdb exists already")
        self.assert_error(run("convert-cifar", "--cifar100", "bin", "out"), "bin has no train.bin")

    def test_shapes(self):
        result = self.assert_success(run("make-shapes", "--count=20", "--seed=4", "drawn"))
        self.assertEqual(result.out, "drawn: 20 pictures\n")
        self.assert_success(run("make-shapes", "--db", "--count=20", "--seed=4", "--threads=3", "db"))
        self.assertEqual(re.sub(rb"\.png", b"", read("drawn/boxes.csv")), read("db/boxes.csv"))
        result = self.assert_success(run("compute-image-mean", "db"))
        self.assertIn("Processed 20 files.", result.log)
        self.assert_error(run("make-shapes", "db"), "db exists already")
        self.assert_error(run("make-shapes", "--classes=11", "new"), "there are 1 to 10 classes, not 11")
        self.assert_error(run("make-shapes", "--count=0", "new"), "the number of pictures is 0")

    def test_leveldb(self):
        if not has_leveldb():
            self.skipTest("this build has no LevelDB")
        self.convert("--backend=leveldb", "--resize_height=3", "--resize_width=3")
        result = self.assert_success(run("compute-image-mean", "db"))
        self.assertIn("Processed 4 files.", result.log)


class Unfinished(ToolTest):
    """Converters that do not come to their end. `commands` makes them from a backend and the folder of their targets."""

    RECORDS = 6000

    def setUp(self):
        super().setUp()
        write("a.png", png(12, 12))
        write("list", self.RECORDS * "a.png 1\n")
        for name in ("cat", "dog"):
            for number in range(50):
                write(f"pets/{name}/{number}.png", png(90, 90))
        harness.write_idx("images", (self.RECORDS, 12, 12), random.Random(1).randbytes(self.RECORDS * 144))
        harness.write_idx("labels", (self.RECORDS,), bytes(self.RECORDS))
        write_cifar("bin", 200)
        write("text", 100000 * "abcdef ")
        os.mkdir("out")
        self.backends = ["lmdb", "leveldb"] if has_leveldb() else ["lmdb"]

    def commands(self, out):
        """Command, and its targets with the number of their records."""
        for backend in self.backends:
            flag = f"--backend={backend}"
            yield ["convert-imageset", flag, "./", "list", f"{out}/db"], {"db": self.RECORDS}
            yield ["convert-idx", flag, "images", "labels", f"{out}/db"], {"db": self.RECORDS}
            yield ["convert-cifar", "bin", out, backend], {f"cifar10_train_{backend}": 1000, f"cifar10_test_{backend}": 200}
            yield (["convert-folder", flag, "--test_fraction=0.3", f"--test_db={out}/test", "pets", f"{out}/db"],
                   {"db": 70, "test": 30})
            yield (["make-shapes", "--db", flag, "--count=400", "--seed=1", f"{out}/db"], {"db": 400})
        yield ["make-shapes", "--count=400", f"{out}/db"], {}
        yield ["convert-text", "text", f"{out}/db"], {}

    def records(self, path):
        """Of a data base that can be opened."""
        result = run("compute-image-mean", path)
        self.assertEqual(result.code, 0, result)
        return int(re.search(r"Processed (\d+) files", result.err)[1])

    def leftovers(self):
        return [name for name in os.listdir("out") if ".tmp-" in name]

    def check_targets(self, targets):
        """Each is whole or not there at all."""
        for name in set(os.listdir("out")) - set(self.leftovers()):
            self.assertIn(name, targets)
            self.assertEqual(self.records(f"out/{name}"), targets[name], name)
            shutil.rmtree(f"out/{name}")

    def test_killed(self):
        """kill -9 at moments spread over the whole run and a little more."""
        moments = random.Random(7)
        seen = {"none": 0, "whole": 0, "left": 0}
        for command, targets in self.commands("out"):
            if not targets:
                continue
            shutil.rmtree("out")
            os.mkdir("out")
            with self.subTest(command=command):
                begin = time.monotonic()
                self.assert_success(run(*command))
                seconds = time.monotonic() - begin
                self.check_targets(targets)
                for kill in range(KILLS):
                    process = harness.start(*command, stderr=subprocess.DEVNULL)
                    time.sleep(seconds * (kill + moments.random()) / KILLS * 1.1)
                    process.kill()
                    process.wait()
                    left = self.leftovers()
                    seen["left"] += len(left) > 0
                    seen["whole" if set(targets) <= set(os.listdir("out")) else "none"] += 1
                    for name in left:
                        if os.path.exists(f"out/{name}/INCOMPLETE") and len(os.listdir(f"out/{name}")) > 1:
                            self.assert_incomplete(f"out/{name}")
                    self.check_targets(targets)
                # The next run with the same targets clears away. (What is whole but for its name is named.)
                result = self.assert_success(run(*command))
                for name in self.leftovers():
                    self.assertNotIn("INCOMPLETE", os.listdir(f"out/{name}"))
                    self.assertIn(f"out/{name} was left by another run", result.err)
                    shutil.rmtree(f"out/{name}")
                self.check_targets(targets)
        for what, times in seen.items():
            self.assertGreater(times, 0, f"no kill that shows: {what}")

    def assert_incomplete(self, path):
        result = run("compute-image-mean", path)
        self.assertEqual(result.code, 1, result)
        self.assertRegex(result.err, "is not complete: the program that wrote it was killed; remove it and make it again")

    def test_two_at_once(self):
        write("list", 100 * self.RECORDS * "a.png 1\n")
        command = ["convert-imageset", "./", "list", "out/db"]
        process = harness.start(*command, stderr=subprocess.DEVNULL)
        try:
            name = self.wait_for(self.leftovers, "a temporary folder")[0]
            self.wait_for(lambda: os.path.exists(f"out/{name}/data.mdb"), "a data base")
            result = run(*command)
            self.assertEqual(result.code, 1, result)
            self.assertIn(f"error: another program is making out/db already, in out/{name}\n", result.err)
            result = run("compute-image-mean", f"out/{name}")
            self.assertIn(f"error: out/{name} is not complete: a program is writing it\n", result.err)
        finally:
            process.kill()
            process.wait()

    def test_stopped(self):
        write("list", 100 * self.RECORDS * "a.png 1\n")
        write_cifar("bin", 3000)
        for number in range(50, 20000):
            os.link("pets/cat/0.png", f"pets/cat/{number}.png")
        harness.write_idx("images", (3000000, 2, 2), bytes(12000000))
        harness.write_idx("labels", (3000000,), bytes(3000000))
        for command, targets in self.commands("out"):
            if not targets:
                continue
            command = [word.replace("count=400", "count=100000") for word in command]
            with self.subTest(command=command):
                with open("err", "wb") as err:
                    process = harness.start(*command, stderr=err)
                try:
                    self.wait_for(self.leftovers, "a temporary folder")
                    time.sleep(0.05)
                    process.send_signal(signal.SIGINT)
                    code = process.wait(timeout=20)
                finally:
                    process.kill()
                    process.wait()
                self.assertEqual(code, 1, read("err"))
                self.assertTrue(read("err").endswith(b"error: stopped by a signal; nothing was written\n"), read("err"))
                self.assertEqual(os.listdir("out"), [])

    @unittest.skipUnless(harness.can_mount(), "no small disk can be made here")
    def test_full_disk(self):
        """A disk of its own, of several sizes that are too small."""
        shutil.rmtree("out")
        for command, targets in self.commands("out"):
            sizes = (4, 40, 100, 300) if targets else (4, 100, 3000)
            for kilobytes in sizes:
                with self.subTest(command=command, kilobytes=kilobytes):
                    os.makedirs("out", exist_ok=True)
                    shell = (f"mount -t tmpfs -o size={kilobytes}k none out && {shlex.join([tool_path(command[0]), *command[1:]])}"
                             "; code=$?; ls -A out; exit $code")
                    done = subprocess.run(["unshare", "-rm", "sh", "-c", shell], capture_output=True, text=True, timeout=60)
                    self.assertEqual(done.returncode, 1, done)
                    self.assertEqual(done.stdout, "", f"left by {command}")
                    last = done.stderr.splitlines()[-1]
                    self.assertRegex(last, f"^{command[0]}: error: .*out/.*No space left on device")

    def test_files_that_cannot_grow(self):
        """A limit on the size of files stands for the disk."""
        def limited(size):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        for command, _ in self.commands("out"):
            for size in (10, 5000, 30000, 100000):
                with self.subTest(command=command, size=size):
                    result = run(*command, preexec_fn=lambda: limited(size))
                    if result.code == 0:  # each of its files is a small picture
                        self.assertLessEqual(max(os.path.getsize(f"out/{name}") for name in harness.files_below("out")), size)
                        shutil.rmtree("out/db")
                        continue
                    self.assertEqual(result.code, 1, result)
                    self.assertRegex(result.lines[-1], r"out/.*(File too large|No space left on device|Input/output error)")
                    self.assertEqual(os.listdir("out"), [])


if __name__ == "__main__":
    harness.main()
