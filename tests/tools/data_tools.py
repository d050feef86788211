#!/usr/bin/env python3
"""Tests of the tools that look at data on the command line: describe-data, export-data, compute-image-mean.

  python3 tests/tools/data_tools.py --build BUILD
"""

import os
import signal
import unittest

import harness
from harness import make_lmdb, png, read, run, write


def make_pictures(folder="pets"):
    """Two classes of two pictures of 3 x 2."""
    for number, name in enumerate(["cat/1.png", "cat/2 b.png", "dog/3.png", "dog/4.png"]):
        write(os.path.join(folder, name), png(3, 2, pixels=[10 * number + i for i in range(18)]))
    return folder


class DescribeDataTest(harness.ToolTest):
    def test_a_source_that_fits_a_net(self):
        make_lmdb("db", 20, labels=[i % 10 for i in range(20)])
        write("net.prototxt", harness.small_net("db"))
        done = self.assert_success(run("describe-data", "db", "--model", "net.prototxt"))
        self.assertIn("records    20, ", done.out)
        self.assertIn("label 9: 2 records, 10.0 %", done.out)
        self.assertIn('OK     "loss" (SoftmaxWithLoss) has 10 classes, and all labels are among them\n', done.out)
        self.assertEqual(done.log, [])

    def test_one_that_does_not(self):
        make_lmdb("db", 20, labels=[1 + i % 10 for i in range(20)])
        write("net.prototxt", harness.small_net("db"))
        done = run("describe-data", "db", "--model", "net.prototxt")
        self.assertEqual(done.code, 1, done)
        self.assertEqual(done.others, [], done)
        self.assertIn('WRONG  "loss" (SoftmaxWithLoss) has 10 classes (labels 0 to 9), but 2 records have others, such '
                      'as 10; labels start at 1: take 1 off\n', done.out)

    def test_a_folder_of_classes(self):
        make_pictures()
        write("pets/dog/5.jpg", b"\xff\xd8\xff\xe0 and no more")
        done = run("describe-data", "pets")
        self.assertEqual(done.code, 1, done)
        self.assertIn("label 1: 2 records, 50.0 %  (dog)\n", done.out)
        self.assertIn("broken     pets/dog/5.jpg: the 16 bytes begin like a JPEG image, but cannot be decoded", done.out)
        self.assertIn("WRONG  1 of 5 records cannot be read\n", done.out)

    def test_what_is_no_source(self):
        self.assert_error(run("describe-data", "nothing"), "nothing does not exist (in ")
        write("net.prototxt", harness.small_net("db"))
        self.assert_error(run("describe-data", "net.prototxt"), "net.prototxt is a prototxt, not a source of data")

    def test_wrong_command_lines(self):
        self.assert_usage_error(run("describe-data"), "describe-data")
        self.assert_usage_error(run("describe-data", "db", "--phase", "TRIAN"), "--phase is TRAIN or TEST, not TRIAN")
        self.assert_usage_error(run("describe-data", "db", "--sample", "-1"), "--sample")
        self.assert_usage_error(run("describe-data", "db", "--resize_width", "3"), "--resize_height and --resize_width")


class ExportDataTest(harness.ToolTest):
    def test_pictures_come_back(self):
        make_lmdb("db", 30)
        done = self.assert_success(run("export-data", "db", "out"))
        self.assertEqual(done.out, "out: 30 records in 30 files\n")
        self.assert_success(run("convert-imageset", "--gray", "out/", "out/list.txt", "again"))
        self.assert_success(run("export-data", "again", "twice"))
        first = [line.split() for line in read("out/list.txt").decode().splitlines()]
        second = [line.split() for line in read("twice/list.txt").decode().splitlines()]
        self.assertEqual([label for _, label in first], [label for _, label in second])
        for (one, _), (two, _) in zip(first, second):
            self.assertEqual(read("out/" + one), read("twice/" + two))

    def test_a_part_of_a_folder_in_another_format(self):
        make_pictures()
        done = self.assert_success(run("export-data", "pets", "out", "--format", "ppm", "--label", "1", "--count", "1"))
        self.assertEqual(done.out, "out: 1 records in 1 files\n")
        self.assertEqual(harness.files_below("out"), ["dog_3.ppm", "list.txt"])
        self.assertEqual(read("out/list.txt"), b"dog_3.ppm 1\n")
        self.assertEqual(read("out/dog_3.ppm")[-18:], bytes(20 + i for i in range(18)))

    def test_nothing_is_overwritten(self):
        make_lmdb("db", 3)
        write("out/mine", "")
        self.assert_error(run("export-data", "db", "out"), "out is not empty")
        self.assertEqual(harness.files_below("out"), ["mine"])

    def test_wrong_command_lines(self):
        self.assert_usage_error(run("export-data", "db"), "export-data")
        self.assert_usage_error(run("export-data", "db", "out", "--label", "cat"), "--label: a number, not cat")
        self.assert_usage_error(run("export-data", "db", "out", "--from", "-1"), "--from: 0 or more")


class ComputeImageMeanTest(harness.ToolTest):
    def test_all_forms_give_the_same_mean(self):
        make_pictures()
        write("list.txt", "cat/1.png 0\ncat/2 b.png 0\r\ndog/3.png 1\ndog/4.png 1")
        self.assert_success(run("convert-imageset", "pets/", "list.txt", "db"))
        done = self.assert_success(run("compute-image-mean", "db", "db.mean"))
        self.assertEqual(done.log, ["Starting iteration", "Processed 4 files.", "Write to db.mean",
                                    "Number of channels: 3", "mean_value channel [0]: 24.5",
                                    "mean_value channel [1]: 23.5", "mean_value channel [2]: 22.5"])
        self.assert_success(run("compute-image-mean", "--root", "pets/", "list.txt", "list.mean"))
        self.assert_success(run("compute-image-mean", "pets", "folder.mean"))
        self.assertEqual(read("db.mean"), read("list.mean"))
        self.assertEqual(read("db.mean"), read("folder.mean"))
        done = self.assert_success(run("compute-image-mean", "--gray", "--resize_height", "5", "--resize_width", "4",
                                       "pets"))
        self.assertIn("Number of channels: 1", done.log)

    def test_broken_pictures(self):
        make_pictures()
        write("pets/cat/x.png", b"no picture")
        write("pets/dog/y.png", png(2, 2))
        self.assert_error(run("compute-image-mean", "pets", "m"), "pets/cat/x.png: the 10 bytes cannot be decoded")
        self.assertFalse(os.path.exists("m"))
        done = self.assert_success(run("compute-image-mean", "--skip_bad_records", "pets", "m"))
        self.assertIn("Processed 4 files.", done.log)
        self.assertEqual(len(done.warnings), 3, done)
        self.assertIn("the image is 3x2x2, but the first one is 3x2x3; a mean needs images of one size", done.err)
        self.assertIn("2 records skipped", done.log)

    def test_a_signal_leaves_nothing_behind(self):
        make_lmdb("db", 2000, size=64)
        with open("log", "wb") as log:
            tool = harness.start("compute-image-mean", "db", "m", stderr=log)
            tool.send_signal(signal.SIGTERM)
            code = tool.wait(timeout=30)
        # It may have been quicker, or not have been there yet.
        self.assertIn(code, (0, 1, -signal.SIGTERM))
        self.assertEqual(os.path.exists("m"), code == 0)
        self.assertEqual([name for name in harness.files_below() if ".tmp" in name], [])


if __name__ == "__main__":
    harness.main()
