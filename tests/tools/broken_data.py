#!/usr/bin/env python3
"""Broken sources, each through the tools that read it: one clear line, exit code 1, nothing left behind, no hang; with
--skip_bad_records a counted skip where a single record is broken.

  tests/tools/broken_data.py --build BUILD [unittest's arguments]

CASES is the table. A source that is broken as a whole fails in every tool; one with a broken record fails when that
record's turn comes, and is read without it when told to.
"""

import os
import random
import shutil
import struct
import subprocess
import unittest
import zlib

import harness
from harness import CORPUS, ToolTest, datum, make_lmdb, make_small_lmdb, png, read, run, solver, varint, write
from hdf5_files import write_hdf5

TIMEOUT = 20
BATCH = 2


# The nets: any picture is summed up into one score a record, so that one net and one weight file serve them all.


def net(layer):
    return layer + """
layer { name: "sum" type: "Reduction" bottom: "data" top: "sum" reduction_param { axis: 1 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "sum" bottom: "label" top: "loss" }
layer { name: "one" type: "DummyData" top: "one" dummy_data_param { shape { dim: 1 dim: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "one" top: "ip" inner_product_param { num_output: 1 } }
"""


def data(source="db", backend="LMDB", transform=""):
    return ('layer { name: "data" type: "Data" top: "data" top: "label"\n'
            f'  transform_param {{ {transform} }}\n'
            f'  data_param {{ source: "{source}" batch_size: {BATCH} backend: {backend} }} }}\n')


def images(source="list", more="", transform=""):
    return ('layer { name: "data" type: "ImageData" top: "data" top: "label"\n'
            f'  transform_param {{ {transform} }}\n'
            f'  image_data_param {{ source: "{source}" batch_size: {BATCH} {more} }} }}\n')


def hdf5(source="list", transform=""):
    return ('layer { name: "data" type: "HDF5Data" top: "data" top: "label"\n'
            + (f'  transform_param {{ {transform} }}\n' if transform else "")
            + f'  hdf5_data_param {{ source: "{source}" batch_size: {BATCH} }} }}\n')


def windows(source="windows"):
    return ('layer { name: "data" type: "WindowData" top: "data" top: "label"\n'
            '  transform_param { crop_size: 4 }\n'
            f'  window_data_param {{ source: "{source}" batch_size: {BATCH} fg_fraction: 0.5 }} }}\n')


# The sources.


def records(bad, others=None):
    """Five records of 8 x 8 pixels in `db`; number 3 is the bad one."""
    make_small_lmdb("db", [(b"%08d" % i, bad if i == 3 else datum() if others is None else others) for i in range(5)])


def listed(bad, name="bad.png", line=None, others=None):
    """Five pictures in `list`; number 3 (line 4) is the bad one."""
    for i in range(5):
        write(f"{i}.png", others or png(8, 8))
    if bad is not None:
        write(name, bad)
    lines = [f"{i}.png {i}" for i in range(5)]
    lines[3] = line if line is not None else f"{name} 3"
    write("list", "\n".join(lines) + "\n")


def rows(**sets):
    write_hdf5("a.h5", {"data": ("f4", (4, 2), range(8)), "label": ("f4", (4,), range(4)), **sets})
    write("list", "a.h5\n")


def jpeg():
    return read(os.path.join(CORPUS, "data", "image_jpeg", "img0.jpg"))


def damaged_png():
    content = bytearray(png(8, 8))
    at = content.index(b"IDAT") + 8
    content[at] ^= 0xFF  # the pixels, which no longer are what their checksum says
    return bytes(content)


def png_of(kind, bits):
    """8 x 8, of a colour type with alpha or 16 bits a channel."""
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    row = b"\0" + bytes(8 * {0: 1, 2: 3, 6: 4}[kind] * bits // 8)
    head = struct.pack(">IIBBBBB", 8, 8, bits, kind, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(row * 8)) + chunk(b"IEND", b""))


def mean(channels, height, width, values=None):
    """A BlobProto of the old form."""
    count = channels * height * width if values is None else values
    floats = struct.pack(f"<{count}f", *range(count))
    body = b"\x08\x01\x10" + varint(channels) + b"\x18" + varint(height) + b"\x20" + varint(width)
    write("mean", body + b"\x2a" + varint(len(floats)) + floats)


class Case:
    """`make` makes the source, `says` is what an error about it holds. `other`: what compute-image-mean says of the source
    (None: it has nothing to do with it); () is the same. `whole`: each record can be read, but they do not fit together.
    `skips`: a single record is broken, and can be left out."""

    def __init__(self, make, layer, *says, other=(), whole=False):
        self.make, self.layer, self.says, self.other, self.whole, self.skips = make, layer, says, other, whole, False


def truncated_lmdb():
    make_lmdb("db", 400)
    write("db/data.mdb", read("db/data.mdb")[:12288])


def wrong_magic():
    make_small_lmdb("db", [(b"0", datum())])
    content = read("db/data.mdb")
    write("db/data.mdb", content.replace(struct.pack("<I", 0xBEEFC0DE), b"\0\0\0\0"))


def leveldb(to):
    shutil.copytree(os.path.join(CORPUS, "data", "leveldb_raw", "db"), to)


def nested_groups(depth=500):
    """An unknown group within an unknown group within …: what makes a careless parser run out of stack."""
    return varint(99 << 3 | 3) * depth + varint(99 << 3 | 4) * depth


def make_weights():
    """A snapshot of the nets of this file."""
    folder = os.path.join(os.environ["CREMA_TOOL_TESTS"], "weights")
    os.makedirs(folder)
    os.chdir(folder)
    make_small_lmdb("db", [(b"0", datum())])
    write("net.prototxt", net(data()))
    write("solver.prototxt", solver(max_iter=0))
    done = run("train", "--solver", "solver.prototxt", "--threads", 1)
    assert done.code == 0, done
    return os.path.join(folder, "snap_iter_0.caffemodel")


def window_file(text, picture=True):
    if picture:
        write("a.png", png(8, 8))
    write("windows", text)


WINDOWS = "# 0\na.png\n3 8 8\n2\n1 0.9 0 0 7 7\n0 0.1 1 1 5 5\n"

RECORD = 'record "00000003"'
MEAN = 'mean_file: "mean"'

# Of no use as a whole.
SOURCES = dict(
    lmdb_truncated=Case(truncated_lmdb, data(), "LMDB db", "is truncated: of its 13 pages only 3 are there"),
    lmdb_of_random_bytes=Case(lambda: write("db/data.mdb", random.Random(1).randbytes(20000)), data(), "db/data.mdb",
                              "is not an LMDB"),
    lmdb_with_another_magic_number=Case(wrong_magic, data(), "db/data.mdb", "is not an LMDB"),
    lmdb_empty=Case(lambda: make_small_lmdb("db", []), data(), "LMDB db", "is empty: it holds no records"),
    lmdb_missing=Case(lambda: None, data(), "LMDB db", "does not exist", other=("db", "does not exist")),
    lmdb_dangling_link=Case(lambda: os.symlink("gone", "db"), data(), "symbolic link to gone, which does not exist"),
    lmdb_is_a_pipe=Case(lambda: (os.mkdir("db"), os.mkfifo("db/data.mdb")), data(), "db/data.mdb", "not a regular file"),
    lmdb_for_leveldb=Case(lambda: make_small_lmdb("db", [(b"0", datum())]), data(backend="LEVELDB"),
                          "db is an LMDB, not a LevelDB", other=None),
    leveldb_for_lmdb=Case(lambda: leveldb("db"), data(), "is a LevelDB, not an LMDB", other=None),
    list_missing=Case(lambda: None, images(), "cannot open list: No such file", other=("list", "does not exist")),
    list_empty=Case(lambda: write("list", ""), images(), "list lists no images", other=("list", "is empty")),
    list_of_blank_lines=Case(lambda: write("list", "\n  \n\n"), images(), "list lists no images",
                             other=("list is empty",)),
    list_is_a_pipe=Case(lambda: os.mkfifo("list"), images(), "list is a pipe that nobody writes to", other=("list",)),
    list_is_an_empty_folder=Case(lambda: os.mkdir("list"), images(), "list holds nothing", "sub-folder"),
    list_without_labels=Case(lambda: listed(None, line="3.png"), images(), 'list:4: "3.png" has no label'),
    list_with_a_word_for_a_label=Case(lambda: listed(None, line="3.png cat"), images(),
                                      'list:4: the label "cat" of "3.png" is not a number'),
    list_with_a_nul=Case(lambda: listed(None, line="3\0.png 3"), images(), "list:4: a NUL byte", other=("list",)),
    list_is_a_picture=Case(lambda: write("list", png()), images(), "list:3: a NUL byte", other=("list is a single image",)),
    hdf5_missing=Case(lambda: write("list", "a.h5\n"), hdf5(), "a.h5 does not exist", other=("a.h5",)),
    hdf5_is_a_folder=Case(lambda: (os.mkdir("a.h5"), write("list", "a.h5\n")), hdf5(),
                          "a.h5 is not an HDF5 file: it is not a regular file"),
    hdf5_is_a_text=Case(lambda: (write("a.h5", "hello"), write("list", "a.h5\n")), hdf5(),
                        "cannot open a.h5 as an HDF5 file"),
    hdf5_truncated=Case(lambda: (rows(), write("a.h5", read("a.h5")[:1000])), hdf5(), "a.h5", "truncated file"),
    hdf5_lacks_a_dataset=Case(lambda: (write_hdf5("a.h5", {"data": ("f4", (4, 2), range(8))}), write("list", "a.h5\n")),
                              hdf5(), 'a.h5 has no dataset "label"', other=None),
    hdf5_rows_disagree=Case(lambda: rows(label=("f4", (3,), range(3))), hdf5(),
                            'dataset "label" in a.h5 has 3 rows, dataset "data" has 4'),
    hdf5_of_strings=Case(lambda: rows(label=("str", (4,), "abcd")), hdf5(),
                         'dataset "label" in a.h5 holds strings, not numbers'),
    hdf5_without_axes=Case(lambda: rows(label=("f4", (), [1])), hdf5(), 'dataset "label" in a.h5 has no axes'),
    hdf5_without_rows=Case(lambda: rows(data=("f4", (0, 2), []), label=("f4", (0,), [])), hdf5(), "list", "no rows"),
    hdf5_of_other_dims=Case(
        lambda: (write_hdf5("b.h5", {"data": ("f4", (4, 3), range(12)), "label": ("f4", (4,), range(4))}), rows(),
                 write("list", "a.h5\nb.h5\n")),
        hdf5(), 'rows of dataset "data" are 3 in b.h5, but 2 in a.h5', other=("b.h5: row 0", "3x1x1", "2x1x1"), whole=True),
    hdf5_given_as_list=Case(lambda: write_hdf5("list", {"data": ("f4", (1, 1), [0])}), hdf5(),
                            "list is an HDF5 file itself", other=None),
    mean_missing=Case(lambda: records(datum()), data(transform=MEAN), "cannot open mean: No such file", other=None),
    mean_of_random_bytes=Case(lambda: (records(datum()), write("mean", random.Random(2).randbytes(300))),
                              data(transform=MEAN), "mean cannot be read as BlobProto", other=None),
    mean_truncated=Case(lambda: (records(datum()), mean(1, 8, 8), write("mean", read("mean")[:100])),
                        data(transform=MEAN), "mean cannot be read as BlobProto", "cut short", other=None),
    mean_of_another_size=Case(lambda: (records(datum()), mean(1, 6, 6)), data(transform=MEAN), 'record "00000000"',
                              "the image is 1x8x8, but the mean file mean is 1x6x6", other=None),
    mean_of_other_channels=Case(lambda: (records(datum()), mean(3, 8, 8)), data(transform=MEAN), 'record "00000000"',
                                "the image is 1x8x8, but the mean file mean is 3x8x8", other=None),
    mean_with_too_few_values=Case(lambda: (records(datum()), mean(1, 8, 8, values=60)), data(transform=MEAN),
                                  "mean file mean", "needs 64 values, but 60 are stored", other=None),
    mean_value_for_each_of_three=Case(lambda: records(datum()), data(transform="mean_value: 1 mean_value: 2 mean_value: 3"),
                                      "1x8x8", "there are 3 mean_value", other=None),
    mean_file_and_value=Case(lambda: (records(datum()), mean(1, 8, 8)), data(transform=MEAN + " mean_value: 1"),
                             "both mean_file and mean_value", other=None),
    crop_larger_than_the_pictures=Case(lambda: records(datum()), data(transform="crop_size: 9"), 'record "00000000"',
                                       "the image is 1x8x8, smaller than crop_size 9", other=None),
    windows_missing=Case(lambda: None, windows(), "cannot open windows", other=None),
    windows_empty=Case(lambda: write("windows", ""), windows(), "windows holds no windows", other=None),
    windows_cut=Case(lambda: window_file(WINDOWS[:-4]), windows(), "windows:6: the file ends where", other=None),
    windows_with_a_word=Case(lambda: window_file(WINDOWS.replace("0.9", "much")), windows(),
                             'windows:5: a window\'s overlap is "much"', other=None),
    windows_of_a_missing_picture=Case(lambda: window_file(WINDOWS, picture=False), windows(), "windows:", "cannot open a.png",
                                      other=None),
    windows_outside_of_the_picture=Case(lambda: window_file(WINDOWS.replace("0 0 7 7", "20 20 30 30")), windows(),
                                        "windows:5:", other=None),
)

# One record of five is broken.
ONE_RECORD = dict(
    record_of_no_bytes=Case(lambda: records(b""), data(), RECORD, "is empty (0 bytes)"),
    record_of_random_bytes=Case(lambda: records(b"\xff\x01\x02random!"), data(), RECORD, "is not a Datum: its 10 bytes"),
    record_of_nested_groups=Case(lambda: records(nested_groups()), data(), RECORD, "is not a Datum"),
    record_with_too_few_bytes=Case(lambda: records(datum(data=bytes(63))), data(), RECORD,
                                   "needs 64 values for 1x8x8, but has 63 bytes"),
    record_with_two_kinds_of_data=Case(lambda: records(datum(floats=[1.0] * 64)), data(), RECORD, "in data", "in float_data"),
    record_without_a_picture=Case(lambda: records(datum(data=b"")), data(), RECORD, "has neither data nor float_data"),
    record_of_huge_dims=Case(lambda: records(datum(2**31 - 1, 2**31 - 1, 2**31 - 1, data=b"x")), data(), RECORD,
                             "needs too many values for 2147483647x2147483647x2147483647"),
    record_of_negative_dims=Case(lambda: records(datum(height=-8, data=bytes(64))), data(), RECORD, "1x-8x8"),
    record_with_jpeg_that_is_not_said_to_be=Case(lambda: records(datum(3, 8, 8, data=jpeg())), data(), RECORD,
                                                 'a JPEG image, whose "encoded" flag is unset'),
    record_of_encoded_noise=Case(lambda: records(datum(data=b"no picture", encoded=True)), data(), RECORD,
                                 "the 10 bytes cannot be decoded as an image"),
    record_of_another_size=Case(lambda: records(datum(height=4, data=bytes(32))), data(), RECORD, "1x4x8", "1x8x8", whole=True),
    record_smaller_than_the_crop=Case(lambda: records(datum(height=4, data=bytes(32))), data(transform="crop_size: 6"), RECORD,
                                      "the image is 1x4x8, smaller than crop_size 6", other=(RECORD, "1x4x8", "1x8x8"), whole=True),
    record_in_colour_among_grey=Case(lambda: records(datum(3)), data(), RECORD, "3x8x8", "1x8x8", whole=True),
    record_in_grey_among_colour=Case(lambda: records(datum(), others=datum(3)), data(), RECORD, "1x8x8", "3x8x8", whole=True),
    record_with_two_labels_among_single_ones=Case(lambda: records(datum(label=1) + b"\x28\x02"), data(), RECORD,
                                                  "has 2 labels, but the first record has 1", other=None),
    picture_missing=Case(lambda: listed(None), images(), "list:4: cannot open bad.png: No such file"),
    picture_of_no_bytes=Case(lambda: listed(b""), images(), "list:4: bad.png: the image is empty (0 bytes)"),
    picture_is_a_text=Case(lambda: listed(b"hello"), images(), "list:4: bad.png: the 5 bytes cannot be decoded"),
    picture_is_a_folder=Case(lambda: (listed(None), os.mkdir("bad.png")), images(), "list:4: bad.png is a directory"),
    picture_is_a_pipe=Case(lambda: (listed(None), os.mkfifo("bad.png")), images(),
                           "list:4: bad.png is a pipe that nobody writes to"),
    picture_is_a_dangling_link=Case(lambda: (listed(None), os.symlink("gone", "bad.png")), images(),
                                    "list:4: cannot open bad.png"),
    picture_cut=Case(lambda: listed(png(8, 8)[:40]), images(), "list:4: bad.png", "begin like a PNG image", "cut short"),
    picture_with_a_wrong_checksum=Case(lambda: listed(damaged_png()), images(), "list:4: bad.png", "its checksum is wrong"),
    picture_of_another_size=Case(lambda: listed(png(9, 8)), images(), "list:4: bad.png", "3x8x9", "3x8x8", whole=True),
    picture_smaller_than_the_crop=Case(lambda: listed(png(4, 4)), images(transform="crop_size: 6"), "list:4: bad.png",
                                       "the image is 3x4x4, smaller than crop_size 6", other=("list:4: bad.png", "3x4x4"), whole=True),
)
for case in ONE_RECORD.values():
    case.skips = True


class Broken(ToolTest):
    """The tables; a test for each case is made below."""

    @classmethod
    def setUpClass(cls):
        cls.weights = make_weights()

    def tools(self, *flags):
        """What train and test say of net.prototxt."""
        write("solver.prototxt", solver(max_iter=3, snapshot_after_train="false"))
        yield run("train", "--solver", "solver.prototxt", "--threads", 1, *flags, timeout=TIMEOUT)
        once = ("--iterations", 3) if b"WindowData" in read("net.prototxt") else ("--all",)
        yield run("test", "--model", "net.prototxt", "--weights", self.weights, *once, "--threads", 1, *flags,
                  timeout=TIMEOUT)

    def check(self, case):
        case.make()
        write("net.prototxt", net(case.layer))
        write("solver.prototxt", "")
        before = harness.files_below()
        for flags in ((), ("--skip_bad_records",)):
            for result in self.tools(*flags):
                if case.skips and flags:
                    self.check_left_out(result, case.says)
                else:
                    self.assert_error(result, 'net.prototxt:1: layer "data" (', *case.says)
                self.assertEqual(harness.files_below(), before, result)
            if not case.skips:
                break
        if case.other is not None:
            source = "db" if '"db"' in case.layer else "list"
            self.assert_error(run("compute-image-mean", source, "mean_out", timeout=TIMEOUT), *(case.other or case.says))
            self.check_described(case, run("describe-data", source, timeout=TIMEOUT))
            self.assertEqual(harness.files_below(), before)

    def check_described(self, case, result):
        if case.whole:
            self.assertEqual(result.others, [], result)
        elif case.skips:
            self.assertEqual((result.code, result.others), (1, []), result)
            broken = [line for line in result.out.splitlines() if line.startswith("broken ")]
            self.assertEqual(len(broken), 1, result)
            for text in case.says:
                self.assertIn(text, broken[0], result)
        else:
            self.assert_error(result, *(case.other or case.says))

    def check_left_out(self, result, says):
        """All is well but for a line at the end."""
        self.assert_success(result)
        told = [line for line in result.log if "left out " in line]
        self.assertEqual(len(told), 1, result)
        # Five records, two a batch, three batches: the bad one comes once.
        self.assertIn('layer "data": bad records left out 1 time: ', told[0], result)
        for text in says:
            self.assertIn(text, told[0], result)
        if result.name == "test":
            self.assertIn("Records: 4, each once.", result.log)

    def test_jpeg_cut_at_ten_places(self):
        whole = jpeg()
        for tenth in range(10):
            size = len(whole) * tenth // 10
            with self.subTest(size=size):
                os.mkdir(f"cut{tenth}")
                os.chdir(f"cut{tenth}")
                listed(whole[:size], name="bad.jpg", others=whole)
                write("net.prototxt", net(images()))
                says = ("list:4: ", "bad.jpg: the ", f"{size} bytes begin like a JPEG image" if size > 0 else "is empty")
                for result in self.tools():
                    self.assert_error(result, *says)
                for result in self.tools("--skip_bad_records"):
                    self.check_left_out(result, says)
                self.assert_error(run("convert-imageset", "./", "list", "out", timeout=TIMEOUT), *says)
                os.chdir("..")

    def test_pictures_that_caffe_reads_too(self):
        """Alpha and more than 8 bits are dropped, grey pictures become colour ones."""
        listed(png_of(6, 8), others=png(8, 8))
        write("1.png", png_of(2, 16))
        write("2.png", png_of(0, 16))
        write("4.png", png(8, 8, 1))
        write("net.prototxt", net(images()))
        for result in self.tools():
            self.assert_success(result)
        self.assert_success(run("compute-image-mean", "list", "mean_out"))

    def test_numbers_that_are_none(self):
        """They are read, since only the net can tell that they do harm: training ends before they reach the weights."""
        for value, shown in ((float("nan"), "nan"), (float("inf"), "inf"), (-float("inf"), "inf")):
            for source in ("rows", "records"):
                with self.subTest(value=shown, source=source):
                    if source == "rows":
                        rows(data=("f4", (4, 2), [0, 0, 0, 0, 0, 0, value, 0]))
                        write("net.prototxt", net(hdf5()))
                    else:
                        records(datum(data=b"", floats=[0.0] * 60 + [value] * 4), others=datum(data=b"", floats=[0.0] * 64))
                        write("net.prototxt", net(data()))
                    train, test = self.tools()
                    self.assert_error(train, "iteration 1: the loss is", 'top "data"', "The data itself is not clean",
                                      "row 3 of a.h5" if source == "rows" else RECORD)
                    self.assert_success(test)
                    self.assertTrue([line for line in test.warnings if '"loss" is not a finite number' in line], test)

    def test_labels_that_are_no_class(self):
        tail = """layer { name: "flat" type: "Flatten" bottom: "data" top: "flat" }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "flat" bottom: "label" top: "loss" }
layer { name: "one" type: "DummyData" top: "one" dummy_data_param { shape { dim: 1 dim: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "one" top: "ip" inner_product_param { num_output: 1 } }
"""
        for label, shown in ((-1, "-1"), (64, "64"), (2**31 - 1, "2.14748e+09")):
            with self.subTest(label=shown):
                records(datum(label=label))
                write("net.prototxt", data() + tail)
                for result in self.tools():
                    self.assert_error(result, 'layer "loss" (SoftmaxWithLoss)', f"label {shown} of item 1", RECORD,
                                      "is not in 0..63 (labels start at 0)")
        for label, shown in ((-1, "-1"), (2, "2"), (1e10, "1e+10"), (float("nan"), "nan")):
            with self.subTest(label=shown):
                rows(label=("f8", (4,), [0, 0, 0, label]))
                write("net.prototxt", hdf5() + tail)
                for result in self.tools():
                    self.assert_error(result, f"label {shown} of item 1", "row 3 of a.h5", "0..1")

    def test_several_sources(self):
        """Of two layers of unequal length no record can be scored once, and of none of two a record can be left out."""
        records(datum())
        listed(png(8, 8))
        write("list", "0.png 0\n1.png 1\n2.png 2\n")
        more = images().replace('"data"', '"more"').replace('"label"', '"other"')
        write("net.prototxt", net(data() + more))
        train, test = self.tools()
        self.assert_success(train)
        self.assert_error(test, '--all: layers "data" and "more" read 5 and 3 records in batches of 2 and 2; they must agree')
        for result in self.tools("--skip_bad_records"):
            self.assert_error(result, 'the net has 2 data layers ("data", "more"), whose records belong together')

    def test_many_bad_records(self):
        """The number counts each time that one comes, the first reasons are told once each."""
        make_small_lmdb("db", [(b"%d" % i, datum() if i % 2 == 0 else b"") for i in range(8)])
        write("net.prototxt", net(data()))
        write("solver.prototxt", solver(max_iter=8, snapshot_after_train="false"))
        result = self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1, "--skip_bad_records"))
        told = [line for line in result.log if "left out " in line]
        self.assertEqual(told, ['layer "data": bad records left out 8 times: '
                                + "; ".join(f'db: record "{i}" is empty (0 bytes)' for i in (1, 3, 5)) + "; …"])

    def test_windows_are_drawn_at_random(self):
        window_file(WINDOWS)
        write("net.prototxt", net(windows()))
        for result in self.tools():
            self.assert_success(result)
        self.assert_error(run("test", "--model", "net.prototxt", "--weights", self.weights, "--all"),
                          '--all: layer "data" (WindowData) draws its windows at random, so it cannot give each once')

    def test_batch_of_nothing_else(self):
        """A source needs at least one good record."""
        records(b"", others=b"")
        write("net.prototxt", net(data()))
        for result in self.tools("--skip_bad_records"):
            self.assert_error(result, "is empty (0 bytes)")

    def test_full_disk(self):
        """A disk of 80 KB: the snapshots of which there is no room are not there at all, those before them are whole."""
        if not harness.can_mount():
            self.skipTest("this user may not mount")
        harness.make_lmdb("db", 8, size=28)
        write("net.prototxt", data() + harness.inner_product("ip", "data", 10) + harness.LOSS)
        write("solver.prototxt", solver(max_iter=3, snapshot=1, momentum=0.9, snapshot_prefix='"disk/snap"'))
        os.mkdir("disk")
        train = harness.tool_path("train")
        done = subprocess.run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=80k none disk && "
                               f"{{ {train} --solver solver.prototxt --threads 1; echo code $?; ls -A disk; }}"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT)
        out = done.stdout.decode().split()
        self.assertEqual(out, ["code", "1", "snap_iter_1.caffemodel", "snap_iter_1.solverstate"], done)
        errors = [line for line in done.stderr.decode().splitlines() if not harness.LOG_LINE.match(line)]
        self.assertEqual(len(errors), 1, errors)
        self.assertRegex(errors[0], "train: error: cannot write .*disk/snap_iter_2.*No space left on device")

    def test_folders_of_other_users(self):
        """As somebody who may not: neither read the source nor write the snapshot."""
        if os.geteuid() != 0:
            self.skipTest("only root can be somebody else")
        for folder in (os.environ["CREMA_TOOL_TESTS"], self.folder):
            os.chmod(folder, 0o755)
        records(datum())
        write("net.prototxt", net(data()))
        write("solver.prototxt", solver(max_iter=1))
        command = ("train", "--solver", "solver.prototxt", "--threads", 1)
        try:
            result = run(*command, timeout=TIMEOUT, user=65534)
        except PermissionError:
            self.skipTest("nobody may not run the build")
        self.assert_error(result, "solver.prototxt:", "snapshot_prefix", "Permission denied")
        os.mkdir("out", 0o777)
        os.chmod("out", 0o777)
        write("solver.prototxt", solver(max_iter=1, snapshot_prefix='"out/snap"'))
        self.assert_success(run(*command, timeout=TIMEOUT, user=65534))  # the source need not be writable
        os.chmod("db/data.mdb", 0o600)
        self.assert_error(run(*command, timeout=TIMEOUT, user=65534), 'layer "data" (Data)', "data.mdb", "Permission denied")


def make_test(case):
    return lambda self: self.check(case)


for name, case in {**SOURCES, **ONE_RECORD}.items():
    setattr(Broken, "test_" + name, make_test(case))


if __name__ == "__main__":
    harness.main()
