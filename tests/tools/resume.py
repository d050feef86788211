#!/usr/bin/env python3
"""A training that was killed and goes on equals one that was not, byte by byte.

  tests/tools/resume.py --build BUILD [unittest's arguments]
"""

import os
import random
import re
import shutil
import signal
import time
import unittest

import harness
from harness import ACCURACY, LOSS, ToolTest, data_layer, inner_product, read, run, solver, write

ITERATIONS = 200
EVERY = 5
THREADS = 2
KILLS = 10
SIZE = 12

CONVOLUTION = """layer {
  name: "conv"
  type: "Convolution"
  bottom: "data"
  top: "conv"
  convolution_param { num_output: 8 kernel_size: 5 weight_filler { type: "xavier" } }
}
layer {
  name: "pool"
  type: "Pooling"
  bottom: "conv"
  top: "pool"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 }
}
layer {
  name: "drop1"
  type: "Dropout"
  bottom: "pool"
  top: "pool"
  dropout_param { dropout_ratio: 0.25 }
}
"""
HIDDEN = inner_product("hidden", "pool", 200) + """layer {
  name: "relu"
  type: "ReLU"
  bottom: "hidden"
  top: "hidden"
}
layer {
  name: "drop2"
  type: "Dropout"
  bottom: "hidden"
  top: "hidden"
}
"""


def net(train_source, test_source):
    return ('name: "lenet-like"\n' + data_layer(train_source, 16, "TRAIN") + data_layer(test_source, 30, "TEST")
            + CONVOLUTION + HIDDEN + inner_product("ip", "hidden", 10) + ACCURACY + LOSS)


def training(**fields):
    values = dict(max_iter=ITERATIONS, momentum=0.9, weight_decay=0.001, lr_policy='"step"', gamma=0.5, stepsize=70,
                  average_loss=7, display=10, snapshot=EVERY, snapshot_prefix='"out/net"', test_iter=2,
                  test_interval=40)
    values.update(fields)
    return solver(**values)


def shown_values(log):
    """What was displayed for each iteration: losses and test scores."""
    shown, test_at = {}, None
    for line in log:
        if match := re.match(r"Iteration (\d+).*, loss = (.*)$", line):
            shown["loss", int(match[1])] = match[2]
        elif match := re.match(r"Iteration (\d+), Testing net \(#0\)", line):
            test_at = int(match[1])
        elif match := re.match(r"    Test net output #(\d+): (.*)", line):
            shown["test", test_at, int(match[1])] = match[2]
    return shown


class Resume(ToolTest):
    @classmethod
    def setUpClass(cls):
        cls.base = os.path.join(os.environ["CREMA_TOOL_TESTS"], "reference")
        os.makedirs(os.path.join(cls.base, "out"))
        os.chdir(cls.base)
        harness.make_lmdb("train_db", 1000, size=SIZE)
        harness.make_lmdb("test_db", 100, size=SIZE, seed=2)
        write("net.prototxt", net("../reference/train_db", "../reference/test_db"))
        write("solver.prototxt", training())
        cls.reference = run("train", "--solver", "solver.prototxt", "--threads", THREADS)
        assert cls.reference.code == 0, cls.reference
        cls.values = shown_values(cls.reference.log)

    def setUp(self):
        super().setUp()
        os.mkdir("out")
        for name in ("net.prototxt", "solver.prototxt"):
            shutil.copy(os.path.join(self.base, name), name)

    def train(self, *arguments, threads=THREADS, solver_file="solver.prototxt"):
        return run("train", "--solver", solver_file, "--threads", threads, *arguments)

    def begin(self, *arguments):
        """The training in the background, with its log in log.txt."""
        with open("log.txt", "wb") as log:
            return harness.start("train", "--solver", "solver.prototxt", "--threads", THREADS, *arguments, stderr=log)

    def kill(self, process):
        process.kill()
        self.assertEqual(process.wait(), -signal.SIGKILL, read("log.txt").decode())

    def copy_snapshots(self, *iterations, to="out"):
        """These snapshots of the uninterrupted run and no others."""
        shutil.rmtree(to, ignore_errors=True)
        os.mkdir(to)
        for iteration in iterations:
            for ending in ("caffemodel", "solverstate"):
                shutil.copy(os.path.join(self.base, f"out/net_iter_{iteration}.{ending}"), to)

    def assert_same_end(self, iteration=ITERATIONS, folder="out", what=""):
        for ending in ("caffemodel", "solverstate"):
            name = f"net_iter_{iteration}.{ending}"
            self.assertTrue(read(os.path.join(folder, name)) == read(os.path.join(self.base, "out", name)),
                            f"{name} differs from the uninterrupted run's {what}")

    def assert_same_weights(self, iteration, folder):
        """The state differs: it holds the path."""
        name = f"net_iter_{iteration}.caffemodel"
        self.assertTrue(read(os.path.join(folder, name)) == read(os.path.join(self.base, "out", name)), name)

    def assert_same_log(self, log, may_be_empty=False):
        shown = shown_values(log)
        self.assertTrue(shown or may_be_empty)
        for key, value in shown.items():
            self.assertEqual(value, self.values[key], key)

    def assert_resumed(self, result, iteration=None):
        """Iteration that it resumed at."""
        self.assert_success(result)
        restored = [line for line in result.log if line.startswith("Restored iteration ")]
        self.assertEqual(len(restored), 1, result)
        at = int(restored[0].split()[2])
        if iteration is not None:
            self.assertEqual(at, iteration, result)
        return at

    def test_reference(self):
        expected = [f"net_iter_{i}.{ending}" for i in range(EVERY, ITERATIONS + 1, EVERY)
                    for ending in ("caffemodel", "solverstate")]
        self.assertEqual(harness.files_below(os.path.join(self.base, "out")), sorted(expected))
        self.assertEqual(len([key for key in self.values if key[0] == "loss"]), ITERATIONS / 10 + 1)
        self.assertEqual(len([key for key in self.values if key[0] == "test"]), 2 * (ITERATIONS / 40 + 1))

    def test_twice_the_same(self):
        self.assert_success(self.train())
        self.assert_same_end()

    def kill_after(self, process, files, generator):
        """Kills it at a moment after so many files were written since it began; False when it came to its end before."""
        begun, start = len(os.listdir("out")), time.monotonic()
        self.wait_for(lambda: len(os.listdir("out")) >= begun + files or process.poll() is not None, "snapshots")
        # Up to the time that two files, a snapshot, take.
        time.sleep(generator.random() * 2 * (time.monotonic() - start) / (files + 1))
        process.kill()
        code = process.wait()
        # It may have come to its end in the very moment.
        self.assertIn(code, (0, -signal.SIGKILL), read("log.txt").decode())
        return code != 0

    def test_killed_at_random_moments(self):
        generator = random.Random(20)
        kills = 0
        for _ in range(10 * KILLS):
            shutil.rmtree("out")
            os.mkdir("out")
            process = self.begin()
            if not self.kill_after(process, generator.randrange(0, 2 * ITERATIONS // EVERY - 4), generator):
                continue
            kills += 1
            with self.subTest(kill=kills):
                self.assert_same_log(re.findall(r"\] (.*)\n", read("log.txt").decode()), may_be_empty=True)
                result = self.assert_success(self.train("--snapshot", "auto"))
                self.assert_same_log(result.log)
                self.assert_same_end(what=f"after kill {kills}")
            if kills == KILLS:
                break
        self.assertEqual(kills, KILLS)

    def test_killed_while_writing(self):
        """A temporary file is there: so this is a moment within the writing of one."""
        left = 0
        for ending in ("caffemodel", "solverstate"):
            for after in (0, 3, 11):
                with self.subTest(ending=ending, after=after):
                    shutil.rmtree("out")
                    os.mkdir("out")
                    process = self.begin()

                    def writing():
                        names = os.listdir("out")
                        return (len([name for name in names if name.endswith(ending)]) >= after
                                and [name for name in names if ".tmp" in name and ending in name]
                                or process.poll() is not None)

                    end = time.monotonic() + 30
                    while not writing() and time.monotonic() < end:
                        pass  # no pause: the moment is short
                    self.kill(process)
                    left += any(".tmp" in name for name in os.listdir("out"))
                    self.assert_success(self.train("--snapshot", "auto"))
                    self.assert_same_end()
        self.assertGreater(left, 0, "no kill came within the writing")

    def test_killed_again_and_again(self):
        generator = random.Random(7)
        kills = 0
        process = self.begin("--snapshot", "auto")
        while self.kill_after(process, generator.randrange(3, 15), generator):
            kills += 1
            process = self.begin("--snapshot", "auto")
        self.assertEqual(process.returncode, 0, read("log.txt").decode())
        self.assertGreater(kills, 3)
        self.assert_same_end(what=f"after {kills} kills")

    def test_killed_with_hdf5_snapshots(self):
        write("solver.prototxt", training(snapshot_format="HDF5", max_iter=60, snapshot=20))
        self.assert_success(self.train())
        names = ["out/net_iter_60.caffemodel.h5", "out/net_iter_60.solverstate.h5"]
        expected = [read(name) for name in names]
        for name in names:
            os.remove(name)
        self.assert_resumed(self.train("--snapshot", "auto"), 40)
        self.assertTrue([read(name) for name in names] == expected)

    def test_given_iteration_and_file(self):
        for request, iteration in (("85", 85), ("out/net_iter_130.solverstate", 130), ("auto", 130)):
            with self.subTest(request=request):
                self.copy_snapshots(85, 130)
                self.assert_resumed(self.train("--snapshot", request), iteration)
                self.assert_same_end()

    def test_auto_without_a_snapshot(self):
        result = self.assert_success(self.train("--snapshot", "auto"))
        self.assertTrue([line for line in result.log if "starting from the beginning" in line], result)
        self.assert_same_end()

    def test_auto_of_a_finished_run(self):
        self.copy_snapshots(ITERATIONS)
        self.assert_resumed(self.train("--snapshot", "auto"), ITERATIONS)
        self.assert_same_end()

    def test_more_iterations(self):
        write("short.prototxt", training(max_iter=103))
        self.assert_success(self.train(solver_file="short.prototxt"))
        self.assertTrue(os.path.exists("out/net_iter_103.solverstate"))
        self.assert_resumed(self.train("--snapshot", "auto"), 103)
        self.assert_same_end()

    def test_auto_takes_the_largest_number_of_this_prefix(self):
        self.copy_snapshots(95, 100)
        for name in ("net2_iter_900", "other_iter_900", "net_iter_900x", "net_iter_", "net_iter_-5", "xnet_iter_950"):
            shutil.copy("out/net_iter_95.solverstate", f"out/{name}.solverstate")
        write("out/net_iter_990.solverstate.4711.tmp", b"half")
        write("out/net_iter_990.caffemodel", b"half")
        self.assert_resumed(self.train("--snapshot", "auto"), 100)
        self.assert_same_end()

    def test_corrupt_newest_snapshot(self):
        state, weights = "out/net_iter_130.solverstate", "out/net_iter_130.caffemodel"
        self.copy_snapshots(130)
        whole = {name: read(name) for name in (state, weights)}
        write("solver.prototxt", training(max_iter=135))
        generator = random.Random(5)
        for name, content in whole.items():
            cases = {"empty": b"", "cut": content[:len(content) // 2], "almost whole": content[:-1],
                     "zeros": bytes(len(content)), "random": generator.randbytes(len(content)), "gone": None}
            for case, damaged in cases.items():
                with self.subTest(file=name, case=case):
                    self.copy_snapshots(125, 130)
                    if damaged is None:
                        os.remove(name)
                    else:
                        write(name, damaged)
                    result = self.train("--snapshot", "auto")
                    self.assert_resumed(result, 125)
                    if (name, case) != (state, "gone"):
                        told = [line for line in result.warnings if name in line and "passing over" in line]
                        self.assertTrue(told, result)
                    self.assert_same_end(135)

    def test_state_cut_between_records(self):
        """What is left is a message that can be parsed, but it is not the whole state."""
        self.copy_snapshots(130)
        write("solver.prototxt", training(max_iter=135))
        whole = read("out/net_iter_130.solverstate")

        def record_ends():
            at = 0
            while at < len(whole):
                values = []
                while len(values) < 2:  # the tag, and the value or the length
                    value = shift = 0
                    while whole[at] & 0x80:
                        value |= (whole[at] & 0x7F) << shift
                        shift += 7
                        at += 1
                    values.append(value | whole[at] << shift)
                    at += 1
                at += values[1] if values[0] & 7 == 2 else 0
                yield at

        ends = list(record_ends())
        self.assertEqual(ends[-1], len(whole))
        # The last three records are the last history, current_step and what Caffe does not have. Without the latter two it
        # looks like a state of Caffe's.
        for end in ends[:-3]:
            with self.subTest(end=end):
                self.copy_snapshots(125, 130)
                write("out/net_iter_130.solverstate", whole[:end])
                self.assert_resumed(self.train("--snapshot", "auto"), 125)
                self.assert_same_end(135)

    def test_all_snapshots_corrupt(self):
        """Rather than start from the beginning over the remains of a long run, say so."""
        write("out/net_iter_130.solverstate", b"x")
        self.assert_error(self.train("--snapshot", "auto"), "out/net_iter_130.solverstate")

    def test_moved_folder(self):
        """The state names its weights by a path that is no longer true; they lie beside it."""
        self.copy_snapshots(150, to="elsewhere")
        os.rmdir("out")
        write("solver.prototxt", training(snapshot_prefix='"elsewhere/net"', max_iter=160))
        self.assert_resumed(self.train("--snapshot", "auto"), 150)
        self.assert_same_weights(160, "elsewhere")

    def test_copied_snapshot_with_another_run_in_its_place(self):
        """A copy of a snapshot keeps its own weights, even when others now lie where they once were."""
        self.copy_snapshots(150, to="copy")
        self.copy_snapshots(150)
        shutil.copy(os.path.join(self.base, "out/net_iter_5.caffemodel"), "out/net_iter_150.caffemodel")
        write("solver.prototxt", training(max_iter=160))
        self.assert_resumed(self.train("--snapshot", "copy/net_iter_150.solverstate"), 150)
        self.assert_same_end(160)

    def test_other_working_directory(self):
        self.copy_snapshots(150)
        os.symlink(self.base, "reference")
        os.mkdir("below")
        os.chdir("below")
        write("solver.prototxt", training(snapshot_prefix='"../out/net"', net="../net.prototxt", max_iter=160))
        self.assert_resumed(self.train("--snapshot", "150"), 150)
        self.assert_same_weights(160, "../out")

    def test_other_threads_and_seed_are_told(self):
        self.copy_snapshots(150)
        write("solver.prototxt", training(random_seed=99, max_iter=151))
        result = self.train("--snapshot", "150", threads=1)
        self.assert_resumed(result, 150)
        self.assertTrue([line for line in result.warnings if "2 threads, this one uses 1" in line], result)
        self.assertTrue([line for line in result.warnings if "seed 1, this one has 99" in line], result)

    def test_seed_comes_from_the_state(self):
        """A run that chose its seed itself goes on with it."""
        write("solver.prototxt", training(random_seed=None, max_iter=20))
        self.assert_success(self.train())
        expected = read("out/net_iter_20.caffemodel")
        os.remove("out/net_iter_20.solverstate")
        self.assert_resumed(self.train("--snapshot", "10"), 10)
        self.assertTrue(read("out/net_iter_20.caffemodel") == expected)

    def test_killed_before_the_first_snapshot(self):
        process = self.begin()
        self.wait_for(lambda: "Solving" in read("log.txt").decode(), "a start")
        self.kill(process)
        self.assert_success(self.train("--snapshot", "auto"))
        self.assert_same_end()


class Control(ToolTest):
    """The fields that Caffe does not have: a run that is killed again and again leaves the files of one that was not."""

    EPOCHS = 4  # of 1000 records in batches of 16: 250 iterations

    @classmethod
    def setUpClass(cls):
        cls.base = os.path.join(os.environ["CREMA_TOOL_TESTS"], "control")
        os.makedirs(cls.base)
        os.chdir(cls.base)
        harness.make_lmdb("train_db", 1000, size=SIZE)
        harness.make_lmdb("test_db", 100, size=SIZE, seed=2)

    def fields(self, **more):
        return training(max_iter=None, test_iter=None, test_interval=None, stepsize=None, lr_policy='"plateau"',
                        plateau_winsize=[20, 30], warmup_iter=25, min_lr=0.0001, max_epochs=self.EPOCHS, test_epochs=0.25,
                        snapshot_keep_last=3, snapshot_best='"loss"', **more)

    def check(self, **more):
        write("net.prototxt", net("../control/train_db", "../control/test_db"))
        write("solver.prototxt", self.fields(**more))
        os.mkdir("out")
        whole = self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", THREADS))
        expected = {name: read(os.path.join("out", name)) for name in os.listdir("out")}
        for kill in range(2):
            shutil.rmtree("out")
            os.mkdir("out")
            generator = random.Random(kill)
            kills = 0
            while True:
                with open("log.txt", "wb") as log:
                    process = harness.start("train", "--solver", "solver.prototxt", "--threads", THREADS, "--snapshot",
                                            "auto", stderr=log)
                begun = self.newest()
                after = generator.randrange(5, 40)
                self.wait_for(lambda: self.newest() >= begun + after or process.poll() is not None, "snapshots")
                time.sleep(generator.random() * 0.02)
                process.kill()
                if process.wait() == 0:
                    break
                kills += 1
            self.assertGreater(kills, 1)
            self.assertEqual(sorted(os.listdir("out")), sorted(expected))
            for name, content in expected.items():
                self.assertTrue(read(os.path.join("out", name)) == content, f"{name} after {kills} kills")
        return whole, expected

    @staticmethod
    def newest():
        names = [re.match(r"net_iter_(\d+)\.solverstate$", name) for name in os.listdir("out")]
        return max([int(match[1]) for match in names if match], default=0)

    def test_until_the_last_epoch(self):
        whole, files = self.check()
        self.assertIn("max_epochs: 4 is 250 iterations", whole.log)
        tests = [line for line in whole.log if "Testing net" in line]
        self.assertEqual(len(tests), 4 * self.EPOCHS + 1)
        self.assertEqual(sorted(files), sorted(f"net_{kind}.{ending}" for kind in ("best", "iter_240", "iter_245", "iter_250")
                                               for ending in ("caffemodel", "solverstate")))
        rates = [float(line.split(" = ")[1]) for line in whole.log if ", lr = " in line]
        self.assertEqual(rates[0], 0)
        self.assertLess(rates[-1], max(rates))

    def test_until_nothing_gets_better(self):
        whole, files = self.check(early_stop_tests=3)
        stop = [re.match(r"Iteration (\d+), early stop: no better score in the last 3 tests; the best was loss = .* at "
                         r"iteration (\d+)$", line) for line in whole.log]
        at, best = next((int(match[1]), int(match[2])) for match in stop if match)
        self.assertIn(f"net_iter_{at}.solverstate", files)
        self.assertLess(best, at)
        self.assertLess(at, 250)
        self.assertEqual(whole.log[-2] if "waiting" in whole.log[-1] else whole.log[-1], "Optimization Done.")


if __name__ == "__main__":
    harness.main()
