#!/usr/bin/env python3
"""What signals do to a training: stop with a snapshot, snapshot and go on, nothing; and closed pipes.

  tests/tools/signals.py --build BUILD [unittest's arguments]
"""

import os
import re
import signal
import subprocess
import time
import unittest

import harness
from harness import ToolTest, read, run, small_net, solver, write

STOPPED = "Optimization stopped early."


class Signals(ToolTest):
    def setUp(self):
        super().setUp()
        harness.make_lmdb("db", 100)
        write("net.prototxt", small_net("db", batch=50))
        self.process = None

    def tearDown(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        super().tearDown()

    def begin(self, *arguments, wait_for="Iteration 2 ", stderr=None, **fields):
        """A training of iterations that last some 20 ms. Waits for a part of its log."""
        values = dict(max_iter=1000000, iter_size=100, display=1)
        values.update(fields)
        write("solver.prototxt", solver(**values))
        with open("log.txt", "wb") as log:
            self.process = harness.start("train", "--solver", "solver.prototxt", "--threads", 1, *arguments,
                                         stderr=stderr or log)
        if not stderr:
            self.wait_for(lambda: wait_for in self.log() or self.process.poll() is not None, wait_for)
            self.assertIsNone(self.process.poll(), self.log())
        return self.process

    def log(self):
        return read("log.txt").decode() if os.path.exists("log.txt") else ""

    def iteration(self):
        """The last one displayed, or -1."""
        return int((["-1"] + re.findall(r"Iteration (\d+) ", self.log()))[-1])

    def send(self, number):
        """The first and the last iteration after which a snapshot can be due. An iteration is displayed just before it ends,
        so it may be the next one that was under way."""
        before = self.iteration()
        self.process.send_signal(number)
        return before + 1, self.iteration() + 2

    def finish(self, code=0, seconds=10):
        try:
            self.assertEqual(self.process.wait(timeout=seconds), code, self.log())
        except subprocess.TimeoutExpired:
            self.fail(f"it still runs after {seconds} s")
        self.assertEqual([name for name in harness.files_below() if ".tmp" in name], [])

    def snapshots(self):
        """Iterations that have both files."""
        names = os.listdir(".")
        found = (re.match(r"snap_iter_(\d+)\.solverstate$", name) for name in names)
        states = sorted(int(match[1]) for match in found if match)
        return [state for state in states if f"snap_iter_{state}.caffemodel" in names]

    def assert_stopped_at_once(self, due):
        """With a snapshot of the iteration that was under way when the signal came."""
        self.finish()
        self.assertIn(STOPPED, self.log())
        made = self.snapshots()
        self.assertEqual(len(made), 1, made)
        self.assertGreaterEqual(made[0], due[0], self.log())
        self.assertLessEqual(made[0], due[1], self.log())
        self.assertEqual(self.iteration(), made[0] - 1)

    def test_interrupt_stops_with_a_snapshot(self):
        self.begin()
        self.assert_stopped_at_once(self.send(signal.SIGINT))

    def test_terminate_stops_with_a_snapshot(self):
        self.begin()
        self.assert_stopped_at_once(self.send(signal.SIGTERM))

    def test_stop_and_go_on(self):
        """Nothing is lost by a stop: the end is that of a run without one."""
        self.begin(max_iter=60, iter_size=50)
        self.send(signal.SIGINT)
        self.finish()
        self.assertLess(self.snapshots()[-1], 60)
        resumed = run("train", "--solver", "solver.prototxt", "--threads", 1, "--snapshot", "auto")
        self.assert_success(resumed)
        stopped = read("snap_iter_60.solverstate")
        self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1))
        self.assertTrue(read("snap_iter_60.solverstate") == stopped)

    def test_hangup_snapshots_and_goes_on(self):
        self.begin()
        due = self.send(signal.SIGHUP)
        made = self.wait_for(self.snapshots, "a snapshot")
        self.assertGreaterEqual(made[0], due[0])
        self.assertLessEqual(made[0], due[1])
        self.wait_for(lambda: self.iteration() > made[0] + 1, "more iterations")
        self.assertEqual(self.snapshots(), made)
        self.assertIsNone(self.process.poll())

    def test_effects_exchanged(self):
        self.begin("--sigint_effect", "snapshot", "--sighup_effect=stop")
        self.send(signal.SIGINT)
        first = self.wait_for(self.snapshots, "a snapshot")
        self.wait_for(lambda: self.iteration() > first[0] + 1, "more iterations")
        self.assertIsNone(self.process.poll())
        self.send(signal.SIGHUP)
        self.finish()
        self.assertEqual(len(self.snapshots()), 2)

    def test_no_effect(self):
        self.begin("--sigint_effect=none", "--sighup_effect", "none")
        self.send(signal.SIGINT)
        self.send(signal.SIGHUP)
        at = self.iteration()
        self.wait_for(lambda: self.iteration() > at + 3, "more iterations")
        self.assertEqual(self.snapshots(), [])
        self.assertIsNone(self.process.poll())

    def test_no_effect_twice(self):
        """What is to be ignored is ignored however often it comes."""
        self.begin("--sigint_effect=none", iter_size=100000000, wait_for="Solving")
        for _ in range(3):
            self.send(signal.SIGINT)
            time.sleep(0.1)
        self.assertIsNone(self.process.poll())

    def test_terminate_stops_when_interrupts_are_ignored(self):
        """--sigint_effect is about SIGINT; a machine that shuts down sends SIGTERM."""
        self.begin("--sigint_effect=none")
        self.send(signal.SIGTERM)
        self.finish()
        self.assertEqual(len(self.snapshots()), 1)

    def test_second_interrupt_quits_now(self):
        for first, second in ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGTERM)):
            with self.subTest(second=second):
                # An iteration that does not end.
                self.begin(iter_size=100000000, wait_for="Solving")
                time.sleep(0.1)
                self.send(first)
                time.sleep(0.2)
                self.assertIsNone(self.process.poll())
                self.send(second)
                self.finish(code=-second, seconds=5)
                self.assertEqual(self.snapshots(), [])

    def test_interrupt_in_a_test_pass(self):
        self.begin(iter_size=1, test_iter=100000000, test_interval=3, test_initialization="false",
                   wait_for="Iteration 3, Testing net (#0)")
        time.sleep(0.1)
        self.send(signal.SIGINT)
        self.finish()
        self.assertIn(STOPPED, self.log())
        self.assertEqual(self.snapshots(), [3])
        self.assertNotIn("Test net output", self.log())

    def test_interrupt_in_the_test_pass_before_the_first_iteration(self):
        self.begin(test_iter=100000000, test_interval=3, wait_for="Iteration 0, Testing net (#0)")
        self.send(signal.SIGINT)
        self.finish()

    def test_interrupt_in_the_last_test_pass(self):
        self.begin(iter_size=1, max_iter=3, test_iter=100000000, test_interval=3, test_initialization="false",
                   wait_for="Iteration 3, Testing net (#0)")
        self.send(signal.SIGINT)
        self.finish()
        self.assertEqual(self.snapshots(), [3])

    def test_interrupt_without_snapshot_after_train(self):
        """A stop saves the state even where the end of the training does not."""
        self.begin(snapshot_after_train="false")
        self.assert_stopped_at_once(self.send(signal.SIGINT))

    def test_hangup_and_interrupt_at_once(self):
        self.begin()
        self.send(signal.SIGHUP)
        self.send(signal.SIGINT)
        self.finish()
        self.assertTrue(self.snapshots())

    def test_many_hangups(self):
        self.begin(iter_size=20)
        for _ in range(10):
            self.send(signal.SIGHUP)
            time.sleep(0.01)
        self.wait_for(self.snapshots, "a snapshot")
        self.send(signal.SIGINT)
        self.finish()

    def test_closed_pipe_loses_nothing(self):
        """train 2>&1 | head: the log has no reader any more."""
        reader, writer = os.pipe()
        self.begin(stderr=writer, iter_size=50, snapshot=10, max_iter=30)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            for _ in range(5):
                pipe.readline()
        self.finish()
        self.assertEqual(self.snapshots(), [10, 20, 30])

    def test_interrupt_and_closed_pipe(self):
        """Ctrl-C goes to all of train | tee; tee is gone at once."""
        reader, writer = os.pipe()
        self.begin(stderr=writer)
        os.close(writer)
        pipe = os.fdopen(reader, "rb")
        while b"Iteration 2 " not in pipe.readline():
            pass
        pipe.close()
        self.send(signal.SIGINT)
        self.finish()
        self.assertEqual(len(self.snapshots()), 1)

    def test_closed_standard_error(self):
        """train 2>&-: no file of the training must take the place of standard error."""
        write("solver.prototxt", solver(snapshot=2))
        pid = os.fork()
        if pid == 0:
            os.close(2)
            os.execv(harness.tool_path("train"), ["train", "--solver", "solver.prototxt", "--threads", "1"])
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        expected = {name: read(name) for name in harness.files_below() if name.startswith("snap_")}
        self.assertEqual(len(expected), 4)
        self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1))
        for name, content in expected.items():
            self.assertTrue(read(name) == content, name)

    def test_interrupt_of_a_test(self):
        """The tool that only reads has nothing to save."""
        write("solver.prototxt", solver())
        self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1))
        with open("log.txt", "wb") as log:
            self.process = harness.start("test", "--model", "net.prototxt", "--weights", "snap_iter_4.caffemodel",
                                         "--iterations", 100000000, "--threads", 1, stderr=log)
        self.wait_for(lambda: "Batch 1," in self.log(), "a batch")
        self.send(signal.SIGINT)
        self.finish(code=-signal.SIGINT, seconds=5)

    def test_interrupt_of_convert_idx(self):
        """Half a data base does not stay under its name."""
        harness.write_idx("images", (60000, 28, 28), bytes(60000 * 28 * 28))
        harness.write_idx("labels", (60000,), bytes(60000))
        self.process = harness.start("convert-idx", "images", "labels", "made", stderr=None)
        self.wait_for(lambda: [name for name in os.listdir(".") if name.startswith("made.tmp")], "a beginning")
        self.send(signal.SIGINT)
        self.process.wait(timeout=20)
        self.assertFalse(os.path.exists("made"))


if __name__ == "__main__":
    harness.main()
