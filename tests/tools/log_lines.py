#!/usr/bin/env python3
"""The logs of train and test, read as the scripts of Caffe's users read them, and the numbers in them.

  tests/tools/log_lines.py --build BUILD [unittest's arguments]
"""

import datetime
import os
import pty
import re
import select
import shutil
import unittest

import harness
from harness import ACCURACY, LOSS, ToolTest, data_layer, inner_product, read, run, solver, write

RECORDS = 37
NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"
# What plotting scripts look for.
ITERATION = re.compile(r"Iteration (\d+)")
TRAIN_OUTPUT = re.compile(r"Train net output #(\d+): (\S+) = ([\.\deE+-]+)")
TEST_OUTPUT = re.compile(r"Test net output #(\d+): (\S+) = ([\.\deE+-]+)")
LEARNING_RATE = re.compile(r"lr = ([-+]?[0-9]*\.?[0-9]+([eE]?[-+]?[0-9]+)?)")
# The whole of each line.
DISPLAY = re.compile(rf"Iteration (\d+) \(({NUMBER}) iter/s, ({NUMBER})s/(\d+) iters\), loss = ({NUMBER})$")
LAST_DISPLAY = re.compile(rf"Iteration (\d+), loss = ({NUMBER})$")
RATE = re.compile(rf"Iteration (\d+), lr = ({NUMBER})$")
OUTPUT = re.compile(rf"    (Train|Test) net output #(\d+): (\S+) = ({NUMBER})(?: \(\* ({NUMBER}) = ({NUMBER}) loss\))?$")
TESTING = re.compile(r"Iteration (\d+), Testing net \(#(\d+)\)$")
BATCH = re.compile(rf"Batch (\d+), (\S+) = ({NUMBER})$")
SCORE = re.compile(rf"(\w+) = ({NUMBER})(?: \(\* ({NUMBER}) = ({NUMBER}) loss\))?$")

SECOND_LOSS = """layer {
  name: "distance"
  type: "EuclideanLoss"
  bottom: "two"
  bottom: "three"
  top: "distance"
  loss_weight: 0.25
}
"""


def net(batch=8):
    return ('name: "logged"\n' + data_layer("train_db", 8, "TRAIN") + data_layer("test_db", batch, "TEST")
            + inner_product("ip", "data", 10) + inner_product("two", "data", 3) + inner_product("three", "data", 3)
            + ACCURACY + LOSS + SECOND_LOSS)


def near(a, b, tolerance=2e-5):
    return abs(a - b) <= tolerance * max(1, abs(a), abs(b))


class LogTest(ToolTest):
    @classmethod
    def setUpClass(cls):
        cls.base = os.path.join(os.environ["CREMA_TOOL_TESTS"], cls.__name__)
        os.mkdir(cls.base)
        os.chdir(cls.base)
        harness.make_lmdb("train_db", 64)
        harness.make_lmdb("test_db", RECORDS, seed=3)
        write("net.prototxt", net())
        write("solver.prototxt", solver(
            max_iter=20, momentum=0.9, lr_policy='"inv"', gamma=0.1, power=0.75, display=2, average_loss=3, test_iter=[5, 3],
            test_interval=10, test_compute_loss="true", snapshot=10, snapshot_prefix='"snap"'))
        cls.done = run("train", "--solver", "solver.prototxt", "--threads", 1)
        assert cls.done.code == 0, cls.done

    def setUp(self):
        super().setUp()
        os.chdir(self.base)

    def score(self, *arguments):
        return self.assert_success(run("test", "--threads", 1, *arguments))

    @staticmethod
    def scores(result):
        """Name: (value, weight or None) of the last lines."""
        at = max(index for index, line in enumerate(result.log) if line.startswith("Loss: "))
        found = {"Loss": (float(result.log[at].split()[1]), None)}
        for line in result.log[at + 1:]:
            match = SCORE.match(line)
            found[match[1]] = (float(match[2]), match[3] and float(match[3]))
        return found


class Train(LogTest):
    def test_prefix(self):
        """One letter, month and day, time, process, file:line] - without a year, as Caffe's log library had it and as
        scripts expect it."""
        today = datetime.date.today()
        for line in self.done.lines:
            match = re.match(r"(\w)(\d{4} \S{8}).*]\s+(\S.*)$", line)
            self.assertTrue(match, line)
            month, day = int(line.split()[0][1:3]), int(line.split()[0][3:])
            self.assertLessEqual(abs((datetime.date(today.year, month, day) - today).days) % 364, 2, line)
            hours, minutes, seconds = line.split()[1].split(":")
            self.assertTrue(0 <= int(hours) < 24 and 0 <= int(minutes) < 60 and 0 <= float(seconds) < 61, line)

    def test_only_log_lines(self):
        self.assertEqual(self.done.others, [])
        self.assertEqual(self.done.out, "")

    def test_scripts_find_what_they_look_for(self):
        text = self.done.err
        self.assertIn("Solving logged", text)
        self.assertIn("Optimization Done.", text)
        self.assertIn("Learning Rate Policy: inv", text)
        self.assertEqual({int(number) for number in ITERATION.findall(text)}, set(range(0, 21, 2)))
        self.assertEqual(len(LEARNING_RATE.findall(text)), 10)
        self.assertEqual(len(TRAIN_OUTPUT.findall(text)), 2 * 11)
        self.assertEqual(len(TEST_OUTPUT.findall(text)), 3 * 2 * 3)

    def test_displays(self):
        shown = [DISPLAY.match(line) for line in self.done.log if DISPLAY.match(line)]
        self.assertEqual([int(match[1]) for match in shown], list(range(0, 20, 2)))
        for match in shown:
            self.assertEqual(match[4], "2")
            self.assertGreaterEqual(float(match[2]), 0)
            self.assertGreaterEqual(float(match[3]), 0)
            if match[1] != "0":
                self.assertTrue(near(float(match[2]) * float(match[3]), 2, 1e-3), match[0])
        last = [LAST_DISPLAY.match(line) for line in self.done.log if LAST_DISPLAY.match(line)]
        self.assertEqual([int(match[1]) for match in last], [20])

    def test_every_line_with_numbers_is_of_a_known_form(self):
        for line in self.done.log:
            if line.startswith("Iteration"):
                self.assertTrue(any(form.match(line) for form in (DISPLAY, LAST_DISPLAY, RATE, TESTING)), line)
            elif "net output" in line:
                self.assertRegex(line, OUTPUT)

    def test_order(self):
        """Display, outputs, rate; a test before the iteration's display; snapshots named before what follows them."""
        log = self.done.log
        for index, line in enumerate(log):
            if match := DISPLAY.match(line):
                self.assertEqual([OUTPUT.match(log[index + i])[3] for i in (1, 2)], ["distance", "loss"])
                self.assertEqual(RATE.match(log[index + 3])[1], match[1])
            if match := TESTING.match(line):
                self.assertTrue(re.match(rf"Test loss: {NUMBER}$", log[index + 1]), log[index + 1])
                outputs = [OUTPUT.match(log[index + i]) for i in (2, 3, 4)]
                self.assertEqual([(output[1], output[2], output[3]) for output in outputs],
                                 [("Test", "0", "accuracy"), ("Test", "1", "distance"), ("Test", "2", "loss")])
        tests = [match.groups() for match in map(TESTING.match, log) if match]
        self.assertEqual(tests, [(at, number) for at in ("0", "10", "20") for number in ("0", "1")])
        for at in (10, 20):
            weights = log.index(f"Snapshotting to binary proto file snap_iter_{at}.caffemodel")
            self.assertEqual(log[weights + 1], f"Snapshotting solver state to binary proto file snap_iter_{at}.solverstate")

    def test_rates(self):
        rates = {int(match[1]): float(match[2]) for match in map(RATE.match, self.done.log) if match}
        for iteration, rate in rates.items():
            self.assertTrue(near(rate / 0.01, (1 + 0.1 * iteration) ** -0.75, 1e-5), (iteration, rate))

    def test_weighted_losses(self):
        """The bracket is the weight times the value; the net's loss is the sum of the brackets."""
        for line in self.done.log:
            if match := OUTPUT.match(line):
                weight = {"accuracy": None, "distance": 0.25, "loss": 1}[match[3]]
                if weight is None:
                    self.assertIsNone(match[5], line)
                else:
                    self.assertEqual(float(match[5]), weight, line)
                    self.assertTrue(near(float(match[6]), weight * float(match[4])), line)

    def test_six_digits(self):
        for line in self.done.log:
            for number in re.findall(r"= ([-+]?[\d.]+)", line):
                self.assertLessEqual(len(re.sub(r"^0\.0*|\.", "", number)), 6, line)

    def test_smoothed_loss(self):
        """Shown every iteration it must be the mean of the last three sums."""
        write("every.prototxt", solver(max_iter=9, display=1, average_loss=3, snapshot_prefix='"every"'))
        done = self.assert_success(run("train", "--solver", "every.prototxt", "--threads", 1))
        losses = []
        for line in done.log:
            if match := DISPLAY.match(line) or LAST_DISPLAY.match(line):
                shown, own = float(match.groups()[-1]), 0
                iteration = int(match[1])
            elif match := OUTPUT.match(line):
                own += float(match[6])
                if match[3] == "loss":  # the last of the outputs
                    losses.append(own)
                    last = losses[-3:]
                    self.assertTrue(near(shown, sum(last) / len(last)), (iteration, shown, last))
        self.assertEqual(len(losses), 10)

    def test_debug_info(self):
        """Caffe's lines, for the iterations that are displayed and all of the tests; nothing else changes."""
        fields = dict(max_iter=5, display=4, test_iter=[2, 1], test_interval=5, snapshot_prefix='"debug"')
        write("debug.prototxt", solver(**fields))
        plain = self.assert_success(run("train", "--solver", "debug.prototxt", "--threads", 1))
        weights = read("debug_iter_5.caffemodel")
        write("debug.prototxt", solver(debug_info="true", **fields))
        done = self.assert_success(run("train", "--solver", "debug.prototxt", "--threads", 1))
        self.assertTrue(read("debug_iter_5.caffemodel") == weights)
        lines = [line for line in done.log if line.startswith("    [")]
        self.assertEqual([line for line in done.log if "net output" in line],
                         [line for line in plain.log if "net output" in line])
        forms = (rf"    \[Forward\] Layer \S+, (top|param) blob \S+ data: {NUMBER}$",
                 rf"    \[Backward\] Layer \S+, (bottom|param) blob \S+ diff: {NUMBER}$",
                 rf"    \[Backward\] All net params \(data, diff\): L1 norm = \({NUMBER}, {NUMBER}\); "
                 rf"L2 norm = \({NUMBER}, {NUMBER}\)$")
        for line in lines:
            self.assertTrue(any(re.match(form, line) for form in forms), line)
        # Iterations 0 and 4 are displayed; there are two tests of 2 + 1 batches.
        self.assertEqual(len([line for line in lines if "[Forward] Layer ip, top blob ip data" in line]), 2 + 2 * 3)
        self.assertEqual(len([line for line in lines if "All net params" in line]), 2)
        first = lines.index(next(line for line in lines if "All net params" in line))
        self.assertIn("[Backward] Layer ip, param blob 1 diff", lines[first - 1])

    def test_no_display(self):
        write("silent.prototxt", solver(max_iter=3, snapshot_prefix='"silent"'))
        done = self.assert_success(run("train", "--solver", "silent.prototxt", "--threads", 1))
        self.assertFalse([line for line in done.log if "Iteration" in line or "net output" in line], done)

    def test_hdf5_snapshots(self):
        write("hdf5.prototxt", solver(max_iter=2, snapshot_format="HDF5", snapshot_prefix='"hdf5"'))
        done = self.assert_success(run("train", "--solver", "hdf5.prototxt", "--threads", 1))
        self.assertIn("Snapshotting to HDF5 file hdf5_iter_2.caffemodel.h5", done.log)
        self.assertIn("Snapshotting solver state to HDF5 file hdf5_iter_2.solverstate.h5", done.log)

    def test_no_progress_line_in_a_file(self):
        write("long.prototxt", solver(max_iter=2000, display=1000, snapshot_prefix='"long"'))
        done = self.assert_success(run("train", "--solver", "long.prototxt", "--threads", 1))
        self.assertNotIn("\r", done.err)
        self.assertNotIn("\033", done.err)

    def test_progress_line_on_a_terminal(self):
        write("shown.prototxt", solver(max_iter=2000000, snapshot_prefix='"shown"'))
        terminal, end = pty.openpty()
        process = harness.start("train", "--solver", "shown.prototxt", "--threads", 1, stderr=end)
        os.close(end)
        text = b""
        while b" s left" not in text and select.select([terminal], [], [], 20)[0]:
            text += os.read(terminal, 4096)
        process.kill()
        process.wait()
        os.close(terminal)
        self.assertRegex(text.decode(), r"\r\033\[Kiterations: [\d,]+ of 2,000,000 \(\d+ %\), [\d,.]+/s, \d+ s left")

    def test_comma_locale(self):
        locale = dict(os.environ, LC_ALL="de_DE.UTF-8", LANG="de_DE.UTF-8")
        saved = harness.tool_environment
        harness.tool_environment = lambda: locale
        try:
            done = self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1))
        finally:
            harness.tool_environment = saved
        numbers = [line for line in self.done.log if "net output" in line or "lr =" in line]
        self.assertEqual([line for line in done.log if "net output" in line or "lr =" in line], numbers)

    def test_folder_of_another_alphabet(self):
        os.makedirs("数据", exist_ok=True)
        write("utf8.prototxt", solver(max_iter=2, snapshot_prefix='"数据/снимок"'))
        done = self.assert_success(run("train", "--solver", "utf8.prototxt", "--threads", 1))
        self.assertIn("Snapshotting to binary proto file 数据/снимок_iter_2.caffemodel", done.log)
        self.assertEqual(sorted(os.listdir("数据")), ["снимок_iter_2.caffemodel", "снимок_iter_2.solverstate"])


class Test(LogTest):
    MODEL = ("--model", "net.prototxt", "--weights", "snap_iter_20.caffemodel")

    def batches(self, result):
        found = {}
        for match in map(BATCH.match, result.log):
            if match:
                found.setdefault(match[2], []).append(float(match[3]))
        return found

    def test_lines(self):
        result = self.score(*self.MODEL, "--iterations", 3)
        self.assertIn("Running for 3 iterations.", result.log)
        batches = self.batches(result)
        self.assertEqual(sorted(batches), ["accuracy", "distance", "loss"])
        scores = self.scores(result)
        for name, values in batches.items():
            self.assertEqual(len(values), 3)
            self.assertTrue(near(scores[name][0], sum(values) / 3), (name, values, scores))
        self.assertEqual([scores[name][1] for name in ("accuracy", "distance", "loss")], [None, 0.25, 1])
        self.assertTrue(near(scores["Loss"][0], scores["loss"][0] + 0.25 * scores["distance"][0]), scores)
        self.assertEqual(list(scores), ["Loss", "accuracy", "distance", "loss"])

    def test_debug_info_of_the_net(self):
        write("debug_net.prototxt", "debug_info: true\n" + net())
        plain = self.score(*self.MODEL, "--iterations", 2)
        result = self.score("--model", "debug_net.prototxt", *self.MODEL[2:], "--iterations", 2)
        shown = [line for line in result.log if line.startswith("    [")]
        self.assertEqual(len([line for line in shown if "[Forward] Layer ip, top blob ip data: " in line]), 2)
        self.assertEqual(len([line for line in shown if "[Forward] Layer ip, param blob 0 data: " in line]), 2)
        self.assertFalse([line for line in shown if "[Backward]" in line])
        self.assertEqual(self.scores(result), self.scores(plain))

    def test_solver_with_test_epochs(self):
        """Without test_iter the solver means every record once, also for this tool."""
        write("epochs.prototxt", solver(max_iter=20, snapshot_prefix='"snap"', test_epochs=1))
        result = self.score("--solver", "epochs.prototxt", "--snapshot", 20)
        self.assertIn(f"Records: {RECORDS}, each once.", result.log)

    def test_fifty_iterations_by_default(self):
        result = self.score(*self.MODEL)
        self.assertIn("Running for 50 iterations.", result.log)
        self.assertEqual(len(self.batches(result)["loss"]), 50)

    def test_all_is_the_mean_over_records(self):
        """37 records, each once: in batches of 8, 5 and 1, and as one batch, it is the same score."""
        results = {}
        for batch in (8, 5, 1, RECORDS, 50):
            write("sized.prototxt", net(batch))
            arguments = ("--model", "sized.prototxt", "--weights", "snap_iter_20.caffemodel")
            results[batch] = self.scores(self.score(*arguments, "--all"))
            if RECORDS % batch == 0:
                plain = self.scores(self.score(*arguments, "--iterations", RECORDS // batch))
                self.assertEqual(plain["accuracy"], results[batch]["accuracy"])
        for batch, scores in results.items():
            for name, (value, _) in scores.items():
                self.assertTrue(near(value, results[RECORDS][name][0]), (batch, name, value))
        right = results[RECORDS]["accuracy"][0] * RECORDS
        self.assertAlmostEqual(right, round(right), delta=1e-3)

    def test_all_agrees_with_a_solver_that_tests_all(self):
        """The same numbers to the last digit, also where labels are ignored and classes are counted."""
        write("classes.prototxt", net(8) + ACCURACY.replace("accuracy", "classes").replace(
            'top: "classes"', 'top: "known"\n  top: "classes"\n  accuracy_param { ignore_label: 3 }'))
        write("all.prototxt", solver("classes.prototxt", max_iter=6, snapshot_prefix='"all"', test_all="true", test_interval=6,
                                     test_iter=2))
        done = self.assert_success(run("train", "--solver", "all.prototxt", "--threads", 1))
        at = done.log.index("Iteration 6, Testing net (#0)")
        scores = [OUTPUT.match(line) for line in done.log[at + 1:]]
        expected = [f"{match[3]} = {match[4]}" for match in scores if match]
        self.assertEqual(len(expected), 4 + 10)
        for arguments in (("--model", "classes.prototxt", "--weights", "all_iter_6.caffemodel", "--all"),
                          ("--solver", "all.prototxt", "--snapshot", "auto")):
            result = self.score(*arguments)
            self.assertIn(f"Records: {RECORDS}, each once.", result.log)
            shown = [match for match in map(SCORE.match, result.log) if match and match[1] != "Loss"]
            self.assertEqual([f"{match[1]} = {match[2]}" for match in shown], expected)

    def test_all_says_how_many(self):
        result = self.score(*self.MODEL, "--all")
        self.assertIn(f"Records: {RECORDS}, each once.", result.log)
        self.assertEqual(len(self.batches(result)["loss"]), 5)

    def test_solver_and_snapshot(self):
        newest = self.score("--solver", "solver.prototxt", "--snapshot", "auto")
        self.assertIn("Running for 5 iterations.", newest.log)  # the first test_iter
        self.assertTrue([line for line in newest.log if "snap_iter_20.caffemodel" in line], newest)
        by_name = self.score(*self.MODEL, "--iterations", 5)
        self.assertEqual(self.scores(newest), self.scores(by_name))
        older = self.score("--solver", "solver.prototxt", "--snapshot", 10, "--iterations", 2)
        self.assertTrue([line for line in older.log if "snap_iter_10.caffemodel" in line], older)
        self.assertEqual(self.scores(older), self.scores(
            self.score("--model", "net.prototxt", "--weights", "snap_iter_10.caffemodel", "--iterations", 2)))
        by_file = self.score("--solver", "solver.prototxt", "--snapshot", "snap_iter_10.solverstate", "--all")
        self.assertIn(f"Records: {RECORDS}, each once.", by_file.log)

    def test_agrees_with_the_training_log(self):
        """Test net 1 saw 3 batches at 0, 10 and 20; a fresh net that reads on to the same place gives the same scores. At
        iteration 0 both are at the beginning."""
        write("zero.prototxt", solver(max_iter=0, test_iter=5, test_interval=1, test_initialization="true",
                                      snapshot_prefix='"zero"'))
        self.assert_success(run("train", "--solver", "zero.prototxt", "--threads", 1))
        fresh = self.scores(self.score("--solver", "zero.prototxt", "--snapshot", 0))
        at = self.done.log.index("Iteration 0, Testing net (#0)")
        self.assertTrue(near(float(self.done.log[at + 1].split()[2]), fresh["Loss"][0]))
        for offset, name in ((2, "accuracy"), (3, "distance"), (4, "loss")):
            self.assertTrue(near(float(OUTPUT.match(self.done.log[at + offset])[4]), fresh[name][0]), name)

    def test_one_dash_and_equals_sign(self):
        result = self.score("-model=net.prototxt", "-weights=snap_iter_20.caffemodel", "-iterations=2")
        self.assertEqual(self.scores(result), self.scores(self.score(*self.MODEL, "--iterations", 2)))

    def test_several_weight_files(self):
        shutil.copy("snap_iter_10.caffemodel", "first.caffemodel")
        result = self.score("--model", "net.prototxt", "--weights", "first.caffemodel,snap_iter_20.caffemodel",
                            "--iterations", 2)
        self.assertEqual(self.scores(result), self.scores(self.score(*self.MODEL, "--iterations", 2)))

    def test_threads_do_not_matter_much(self):
        one = self.scores(self.score(*self.MODEL, "--all"))
        two = self.scores(self.assert_success(run("test", "--threads", 2, *self.MODEL, "--all")))
        for name in one:
            self.assertTrue(near(one[name][0], two[name][0], 1e-4), (one, two))

    def test_all_without_a_data_layer(self):
        text = net().replace(data_layer("test_db", 8, "TEST"),
                             'layer { name: "data" type: "DummyData" top: "data" top: "label" include { phase: TEST }\n'
                             'dummy_data_param { shape { dim: 4 dim: 1 dim: 8 dim: 8 } shape { dim: 4 } } }\n')
        write("dummy.prototxt", text)
        result = run("test", "--model", "dummy.prototxt", "--weights", "snap_iter_20.caffemodel", "--all", "--threads", 1)
        self.assert_error(result, "--all", "data layer")


if __name__ == "__main__":
    harness.main()
