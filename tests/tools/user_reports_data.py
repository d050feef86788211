#!/usr/bin/env python3
"""What users of Caffe and its forks ran into with their data, each as a test through the tools. (What is tested elsewhere
is not here: sources that cannot be opened, broken records and labels in broken_data.py and bad_input.py; lists, types and
orders that need no tool in tests/unit/data.)

  tests/tools/user_reports_data.py --build BUILD [unittest's arguments]
"""

import os
import random
import re
import resource
import shutil
import struct
import subprocess
import unittest
import zlib

import harness
from harness import (LOSS, ToolTest, data_layer, datum, datum_floats, inner_product, make_lmdb, make_small_lmdb, png, read,
                     read_small_lmdb, run, small_net, solver, write)
from hdf5_files import write_hdf5

RED = (255, 0, 0)
# For nets that need weights to be run, though they have none.
FITTING = ('layer { name: "one" type: "DummyData" top: "one" dummy_data_param { shape { dim: 1 dim: 1 } } }\n'
           + inner_product("fit", "one", 1))


def picture(width, height, colour=None, seed=0):
    """A PNG of one colour (red, green, blue), or of noise."""
    noise = random.Random(seed)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + (bytes(colour) * width if colour else noise.randbytes(3 * width)) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1))
            + chunk(b"IEND", b""))


def image_layer(more="", source="list", batch=4, tops=("data", "label"), transform=""):
    named = "".join(f' top: "{top}"' for top in tops)
    return (f'layer {{ name: "data" type: "ImageData"{named} transform_param {{ {transform} }}\n'
            f'  image_data_param {{ source: "{source}" batch_size: {batch} {more} }} }}\n')


def hdf5_layer(batch=2, more="", tops=("data", "label")):
    named = "".join(f' top: "{top}"' for top in tops)
    return (f'layer {{ name: "data" type: "HDF5Data"{named}\n'
            f'  hdf5_data_param {{ source: "list" batch_size: {batch} {more} }} }}\n')


def numbered_lmdb(path, count, first=0):
    """Records whose only value and whose label are their number."""
    make_small_lmdb(path, [(b"%08d" % i, datum(1, 1, 1, data=bytes([first + i]), label=first + i)) for i in range(count)])


class DataTest(ToolTest):
    def train(self, net, *flags, **fields):
        write("net.prototxt", net)
        write("solver.prototxt", solver(**{"max_iter": 2, **fields}))
        return run("train", "--solver", "solver.prototxt", "--threads", 1, *flags)

    def weights(self):
        """For nets with FITTING in them."""
        if not os.path.exists("fit_iter_0.caffemodel"):
            write("fit.prototxt", FITTING)
            write("fit_solver.prototxt", solver("fit.prototxt", max_iter=0, snapshot_prefix='"fit"'))
            self.assert_success(run("train", "--solver", "fit_solver.prototxt", "--threads", 1))
        return "fit_iter_0.caffemodel"

    def extract(self, net, *blobs, batches="all"):
        """The values of blobs, one list an item, by extract-features."""
        write("extract.prototxt", net)
        found = []
        for blob in blobs:
            shutil.rmtree("features", ignore_errors=True)
            self.assert_success(run("extract-features", self.weights(), "extract.prototxt", blob, "features", batches, "lmdb",
                                    "--threads", 1))
            records = read_small_lmdb("features")
            self.assertEqual([key for key, _ in records], [b"%010d" % i for i in range(len(records))])
            found.append([datum_floats(value) for _, value in records])
        return found if len(found) > 1 else found[0]


class Paths(DataTest):
    def test_backslashes_in_a_path(self):
        self.assert_error(self.train(small_net("C:\\Users\\x\\train_lmdb")), "net.prototxt:8:29:", "backslash",
                          "in paths use / or \\\\")

    def test_folders_with_blanks_and_other_alphabets(self):
        """A list there, with such names in it, its data base, its mean, and the snapshot of a net that is trained on it."""
        for folder in ("数据 один", "with blank"):
            with self.subTest(folder=folder):
                for i in range(4):
                    write(f"{folder}/snö {i}.png", picture(8, 8, seed=i))
                write(f"{folder}/list of all", "".join(f"snö {i}.png {i}\n" for i in range(4)))
                self.assert_success(run("convert-imageset", folder + "/", f"{folder}/list of all", f"{folder}/a db"))
                self.assert_success(run("compute-image-mean", f"{folder}/a db", f"{folder}/a mean"))
                mean = f'mean_file: "{folder}/a mean"'
                net = data_layer(f"{folder}/a db", 4).replace("scale: 0.00390625", mean)
                net += image_layer(f'root_folder: "{folder}/"', f"{folder}/list of all", tops=("more", "other"),
                                   transform=mean).replace('name: "data"', 'name: "more"')
                net += inner_product("ip", "data", 4) + LOSS
                net += 'layer { name: "same" type: "EuclideanLoss" bottom: "data" bottom: "more" top: "same" }\n'
                result = self.assert_success(self.train(net, snapshot_prefix=f'"{folder}/a snapshot"', display=1))
                self.assertIn(f"Snapshotting to binary proto file {folder}/a snapshot_iter_2.caffemodel", result.log)
                same = [line for line in result.log if ": same = " in line]
                self.assertEqual(len(same), 3)
                for line in same:
                    self.assertIn("same = 0 (* 1 = 0 loss)", line)

    def test_relative_source_from_another_folder(self):
        make_small_lmdb("data/db", [(b"0", datum())])
        write("data/net.prototxt", small_net("db"))
        write("data/solver.prototxt", solver("data/net.prototxt"))
        self.assert_error(run("train", "--solver", "data/solver.prototxt"), "data/net.prototxt:2:", 'layer "data" (Data)',
                          f"LMDB db (in {os.getcwd()}) does not exist")


class SameAgain(DataTest):
    NET = """layer {{ name: "data" type: "ImageData" top: "data" top: "label"
  transform_param {{ crop_size: 6 mirror: true }}
  image_data_param {{ source: "list" batch_size: 3 shuffle: true }} }}
layer {{ name: "drop" type: "Dropout" bottom: "data" top: "data" }}
{ip}{loss}"""

    def setUp(self):
        super().setUp()
        for i in range(7):
            write(f"{i}.png", picture(8, 8, seed=i))
        write("list", "".join(f"{i}.png {i}\n" for i in range(7)))
        self.net = self.NET.format(ip=inner_product("ip", "data", 7), loss=LOSS)

    def test_same_seed_gives_the_same_weights(self):
        """Crops, mirror, dropout and order come out the same, however many threads read."""
        weights = set()
        for flags in ((), (), ("--data_threads=1",), ("--data_threads=2",), ("--data_threads=8",)):
            self.assert_success(self.train(self.net, *flags, max_iter=9, random_seed=3))
            weights.add(read("snap_iter_9.caffemodel"))
        self.assertEqual(len(weights), 1)
        self.assert_success(self.train(self.net, max_iter=9, random_seed=4))
        self.assertNotIn(read("snap_iter_9.caffemodel"), weights)

    def test_a_seed_that_was_drawn_is_told(self):
        result = self.assert_success(self.train(self.net, max_iter=9, random_seed=-1))
        seed = [re.search(r"this run uses (\d+)", line)[1] for line in result.log if "this run uses" in line]
        self.assertEqual(len(seed), 1, result)
        first = read("snap_iter_9.caffemodel")
        self.assert_success(self.train(self.net, max_iter=9, random_seed=seed[0]))
        self.assertTrue(read("snap_iter_9.caffemodel") == first)


class ReadOnly(DataTest):
    """Data bases where nobody may write, and that several read at once."""

    def test_one_data_base_for_train_and_test_net_and_two_trainings(self):
        make_lmdb("db", 40)
        content = read("db/data.mdb")
        os.chmod("db/data.mdb", 0o444)
        os.chmod("db", 0o555)
        os.chmod(os.environ["CREMA_TOOL_TESTS"], 0o755)
        os.chmod(self.folder, 0o777)
        write("net.prototxt", small_net("db"))
        somebody = {"user": 65534} if os.geteuid() == 0 else {}
        try:
            processes = []
            for name in "ab":
                write(f"{name}.prototxt", solver(max_iter=200, test_iter=2, test_interval=50, snapshot_prefix=f'"{name}"'))
                try:
                    processes.append(harness.start("train", "--solver", f"{name}.prototxt", "--threads", 1,
                                                   stderr=subprocess.PIPE, **somebody))
                except PermissionError:
                    self.skipTest("nobody may not run the build")
            for process in processes:
                err = process.communicate(timeout=60)[1].decode()
                self.assertEqual(process.returncode, 0, err)
            self.assertTrue(read("a_iter_200.caffemodel") == read("b_iter_200.caffemodel"))
        finally:
            os.chmod("db", 0o755)
        self.assertEqual(os.listdir("db"), ["data.mdb"])
        self.assertTrue(read("db/data.mdb") == content)

    def test_the_data_file_itself(self):
        make_lmdb("db", 8)
        self.assert_success(self.train(small_net("db/data.mdb")))


class Colours(DataTest):
    def test_blue_green_red_everywhere(self):
        """A red picture in each way that it can reach a net: channel 0 is blue, 2 is red."""
        write("red.png", picture(4, 4, RED))
        write("list", "red.png 0\n")
        self.assert_success(run("convert-imageset", "./", "list", "raw"))
        self.assert_success(run("convert-imageset", "--encoded", "./", "list", "encoded"))
        expected = [0.0] * 32 + [255.0] * 16
        layers = [data_layer(source, 1).replace("scale: 0.00390625", "") for source in ("raw", "encoded")]
        for layer in (*layers, image_layer(batch=1)):
            self.assertEqual(self.extract(layer + FITTING, "data"), [expected])
        for source in ("raw", "encoded", "list"):
            log = self.assert_success(run("compute-image-mean", source, "mean")).log
            self.assertEqual([line for line in log if "mean_value" in line],
                             [f"mean_value channel [{c}]: {value}" for c, value in enumerate((0, 0, 255))])
            os.remove("mean")


class Sizes(DataTest):
    def test_a_mean_larger_than_the_crop_is_cropped_with_it(self):
        make_small_lmdb("db", [(b"0", datum(data=bytes(range(64)))), (b"1", datum(data=bytes(range(64))))])
        self.assert_success(run("compute-image-mean", "db", "mean"))
        layer = data_layer("db", 2).replace("scale: 0.00390625", 'crop_size: 6 mean_file: "mean"')
        rows = self.extract(layer + FITTING, "data")
        self.assertEqual(rows, [[0.0] * 36] * 2)

    def test_an_array_whose_channels_come_last(self):
        make_small_lmdb("db", [(b"0", datum(3, 8, 8)), (b"1", datum(8, 8, 3))])
        self.assert_error(self.train(small_net("db", batch=2)), 'record "1"', "8x8x3", "3x8x8",
                          "looks like height x width x channels, Caffe wants the channels first")

    def test_an_odd_picture_after_many_good_ones(self):
        """The error names it; with resizing there is none."""
        for i in range(12):
            write(f"{i}.png", picture(9 if i == 10 else 8, 8, seed=i))
        write("list", "".join(f"{i}.png {i % 2}\n" for i in range(12)))
        self.assert_error(self.train(image_layer() + inner_product("ip", "data", 2) + LOSS, max_iter=9), "list:11: 10.png",
                          "3x8x9", "3x8x8")
        resized = image_layer("new_height: 8 new_width: 8")
        self.assert_success(self.train(resized + inner_product("ip", "data", 2) + LOSS, max_iter=9))


class Lists(DataTest):
    LINES = "a b.png 1\nc.png\t2\nd.png 3   \r\n\n  \ne.png 4\r\nsub/f.png 0"

    def setUp(self):
        super().setUp()
        for name in ("a b", "c", "d", "e", "sub/f"):
            write(f"in/{name}.png", picture(2, 2, (0, 0, len(name))))

    def test_blanks_tabs_windows_line_ends_and_no_last_one(self):
        write("list", self.LINES)
        layer = image_layer('root_folder: "in/"', batch=2)
        self.assertEqual(self.extract(layer + FITTING, "label"), [[1], [2], [3], [4], [0]])
        self.assert_success(run("convert-imageset", "in/", "list", "db"))
        self.assertEqual([key for key, _ in read_small_lmdb("db")],
                         [b"00000000_a b.png", b"00000001_c.png", b"00000002_d.png", b"00000003_e.png", b"00000004_sub/f.png"])

    def test_labels_that_are_no_whole_numbers(self):
        """Nothing is cut or passed over: a data base of whole labels refuses them, a net takes them."""
        write("list", "a b.png 2.5\nc.png 0.25\n")
        self.assert_error(run("convert-imageset", "in/", "list", "db"), 'list:1: the label "2.5" of "a b.png"')
        self.assertEqual(self.extract(image_layer('root_folder: "in/"', batch=2) + FITTING, "label"), [[2.5], [0.25]])

    def test_the_root_is_put_in_front_as_it_is(self):
        write("list", "c.png 2\n")
        self.assert_error(self.train(image_layer('root_folder: "in"') + FITTING), "list:1: cannot open inc.png")


class Labels(DataTest):
    """Several labels, and labels that are measures."""

    def setUp(self):
        super().setUp()
        for name in "ab":
            write(f"{name}.png", picture(2, 2, seed=ord(name)))
        write("list", "a.png 0.5 1.25\nb.png -3 7\n")

    def test_a_list_with_two_labels_a_line(self):
        layer = image_layer("label_count: 2", batch=2)
        self.assertEqual(self.extract(layer + FITTING, "label"), [[0.5, 1.25], [-3, 7]])
        apart = image_layer("label_count: 2", batch=2, tops=("data", "first", "second"))
        self.assertEqual(self.extract(apart + FITTING, "first", "second"), [[[0.5], [-3]], [[1.25], [7]]])

    def test_a_data_base_of_them(self):
        self.assert_success(run("convert-imageset", "--label_count=2", "--float_labels", "./", "list", "db"))
        self.assertEqual(self.extract(data_layer("db", 2) + FITTING, "label"), [[0.5, 1.25], [-3, 7]])
        self.assert_error(run("convert-imageset", "./", "list", "other"), "list:1:")

    def test_a_second_data_base_for_the_labels(self):
        make_small_lmdb("labels", [(b"%d" % i, datum(3, 1, 1, data=b"", floats=values))
                                   for i, values in enumerate([(1, 2, 3), (4, 5, 6.5)])])
        make_small_lmdb("db", [(b"%d" % i, datum()) for i in range(2)])
        net = (data_layer("db", 2) + data_layer("labels", 2, name="labels").replace('top: "data"', 'top: "target"')
               .replace('top: "label"\n', "").replace("scale: 0.00390625", ""))
        self.assertEqual(self.extract(net + FITTING, "target"), [[1, 2, 3], [4, 5, 6.5]])

    def test_hdf5_with_any_shape_of_labels(self):
        for shape, loss in (((4,), LOSS), ((4, 1), LOSS), ((4, 1, 1, 1), LOSS),
                            ((4, 3), LOSS.replace("SoftmaxWithLoss", "EuclideanLoss"))):
            with self.subTest(shape=shape):
                values = [0, 1, 2] * 4
                count = 4 if len(shape) != 2 or shape[1] == 1 else 12
                write_hdf5("a.h5", {"data": ("f4", (4, 5), range(20)), "label": ("f4", shape, values[:count])})
                write("list", "a.h5\n")
                self.assert_success(self.train(hdf5_layer() + inner_product("ip", "data", 3) + loss))


class Hdf5(DataTest):
    def test_three_thousand_million_values(self):
        """Rows are read as they are needed: neither the number of values nor the size of the file counts."""
        rows, columns = 1_000_000, 3000
        write_hdf5("a.h5", {"data": ("f4", (rows, columns), None), "label": ("i4", (rows,), None)})
        self.assertLess(os.stat("a.h5").st_blocks * 512, 1 << 20)
        write("list", "a.h5\n")
        write("net.prototxt", hdf5_layer() + inner_product("ip", "data", 2) + LOSS)
        write("solver.prototxt", solver(max_iter=5))

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

        self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1, preexec_fn=limit))

    def test_every_type_of_numbers(self):
        for kind in ("f4", "f8", "u1", "i4", "i8"):
            with self.subTest(kind=kind):
                write_hdf5("a.h5", {"data": (kind, (3, 2), [1, 2, 3, 4, 5, 250]), "label": (kind, (3,), [0, 1, 2])})
                write("list", "\na.h5\n\n")
                self.assertEqual(self.extract(hdf5_layer() + FITTING, "data"), [[1, 2], [3, 4], [5, 250]])

    def test_pictures_can_be_transformed(self):
        write_hdf5("a.h5", {"data": ("f4", (2, 1, 3, 3), range(18)), "label": ("f4", (2,), [0, 1])})
        write("list", "a.h5\n")
        layer = hdf5_layer().replace("hdf5_data_param", "transform_param { crop_size: 1 scale: 2 mean_value: 4 }\n  hdf5_data_param")
        self.assertEqual(self.extract(layer + FITTING, "data"), [[0], [18]])

    def test_shuffled_rows_come_once(self):
        """Three files of unequal length, with batches that go across."""
        first = 0
        for name, rows in (("a", 4), ("b", 1), ("c", 6)):
            values = range(first, first + rows)
            write_hdf5(f"{name}.h5", {"data": ("f4", (rows, 1), values), "label": ("f4", (rows,), values)})
            first += rows
        write("list", "a.h5\nb.h5\nc.h5\n")
        rows = self.extract(hdf5_layer(3, "shuffle: true") + FITTING, "data")
        self.assertEqual(sorted(value for row in rows for value in row), list(range(11)))
        self.assertNotEqual(rows, [[i] for i in range(11)])


class Order(DataTest):
    def test_shuffle_means_the_same_everywhere(self):
        """Another order every epoch, each record once in it; without the word the order of the keys or lines."""
        numbered_lmdb("db", 10)
        for i in range(10):
            write(f"{i}.png", picture(1, 1, (i, i, i)))
        write("list", "".join(f"{i}.png {i}\n" for i in range(10)))
        values = list(range(10))
        write_hdf5("a.h5", {"data": ("f4", (10, 1), values), "label": ("f4", (10,), values)})
        write("h5list", "a.h5\n")
        layers = {"Data": data_layer("db", 3).replace("backend", "WORD backend"), "ImageData": image_layer("WORD", batch=3),
                  "HDF5Data": hdf5_layer(3, "WORD").replace('"list"', '"h5list"')}
        for kind, layer in layers.items():
            with self.subTest(kind=kind):
                plain = self.extract(layer.replace("WORD", "") + FITTING, "label", batches="10")
                self.assertEqual([row[0] for row in plain], 3 * values)
                shuffled = [row[0] for row in self.extract(layer.replace("WORD", "shuffle: true") + FITTING, "label",
                                                           batches="10")]
                epochs = [shuffled[at:at + 10] for at in (0, 10, 20)]
                for epoch in epochs:
                    self.assertEqual(sorted(epoch), values)
                self.assertEqual(len({tuple(epoch) for epoch in [*epochs, values]}), 4)

    def test_two_data_layers_stay_in_step(self):
        """Number i of one goes with number i of the other for 1000 iterations, whatever the threads."""
        numbered_lmdb("a", 10)
        numbered_lmdb("b", 10)
        second = data_layer("b", 3, name="second").replace('"data"', '"two"').replace('"label"', '"labels"')
        net = (data_layer("a", 3) + second + 'layer { name: "apart" type: "EuclideanLoss" bottom: "label" bottom: "labels" '
               'top: "apart" }\nlayer { name: "pixels" type: "EuclideanLoss" bottom: "data" bottom: "two" top: "pixels" }\n'
               + inner_product("ip", "data", 10) + LOSS)
        for threads in (1, 4):
            result = self.assert_success(self.train(net, f"--data_threads={threads}", max_iter=1000, display=1, base_lr=0.0001,
                                                    snapshot_after_train="false"))
            shown = [line for line in result.log if ": apart = " in line or ": pixels = " in line]
            self.assertEqual(len(shown), 2 * 1001)
            self.assertEqual({line.rpartition("net output")[2][3:] for line in shown},
                             {": apart = 0 (* 1 = 0 loss)", ": pixels = 0 (* 1 = 0 loss)"})


class Waiting(DataTest):
    def test_a_net_that_waits_says_so_once(self):
        """Large pictures for a tiny net: the end tells the share of the time, a display only where it is much."""
        for i in range(4):
            write(f"{i}.png", picture(1500, 1500, seed=i))
        write("list", "".join(f"{i}.png {i}\n" for i in range(4)))
        net = (image_layer(transform="crop_size: 4") + inner_product("ip", "data", 4) + LOSS)
        result = self.assert_success(self.train(net, max_iter=6, display=3))
        waiting = [line for line in result.log if "waiting" in line.lower()]
        self.assertRegex(waiting[-1], r'^Layer "data": (\d+) % of the time waiting for data \(\d+\.\d of \d+\.\d s\)\.$')
        self.assertGreater(int(re.search(r"(\d+) %", waiting[-1])[1]), 10)
        self.assertLessEqual(len(waiting[:-1]), 3, waiting)
        for line in waiting[:-1]:
            self.assertRegex(line, r"^    Waiting for data: \d+ % of the time$")

    def test_a_net_that_does_not_wait_is_silent(self):
        make_lmdb("db", 40)
        result = self.assert_success(self.train(small_net("db"), max_iter=20, display=1))
        self.assertEqual(len([line for line in result.log if "aiting" in line]), 1, result)


class Features(DataTest):
    def test_one_row_for_each_record(self):
        """Ten pictures in batches of four: ten rows a blob, in order, nothing twice; also in-place and four-axis blobs."""
        for i in range(10):
            write(f"{i}.png", picture(2, 2, (i, i, i)))
        write("list", "".join(f"{i}.png {i}\n" for i in range(10)))
        net = (image_layer() + 'layer { name: "negative" type: "Power" bottom: "data" top: "data" power_param { scale: -1 } }\n'
               + 'layer { name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param { pool: AVE kernel_size: 2 } }\n'
               + FITTING)
        data, pool, label = self.extract(net, "data", "pool", "label")
        self.assertEqual(data, [[-i] * 12 for i in range(10)])
        self.assertEqual(pool, [[-i] * 3 for i in range(10)])
        self.assertEqual(label, [[i] for i in range(10)])
        shuffled = self.extract(net.replace("batch_size: 4", "batch_size: 4 shuffle: true"), "label")
        self.assertEqual(sorted(shuffled), label)
        self.assertNotEqual(shuffled, label)


class Memory(DataTest):
    def peak(self, iterations):
        """Of a test of so many batches, in bytes."""
        log = open("log", "wb")
        process = harness.start("test", "--model", "net.prototxt", "--weights", "fit_iter_0.caffemodel", "--iterations",
                                iterations, "--threads", 1, "--data_threads=1", stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.close()
        self.assertEqual(process.returncode, 0, read("log").decode()[-2000:])
        return usage.ru_maxrss * 1024

    def test_pictures_of_changing_sizes(self):
        """The largest size decides; what comes after it takes no more."""
        sizes = random.Random(1)
        for i in range(60):
            write(f"{i}.png", picture(sizes.randrange(8, 160), sizes.randrange(8, 160), seed=i))
        write("list", "".join(f"{i}.png 0\n" for i in range(60)))
        self.weights()
        write("net.prototxt", image_layer(batch=1) + """
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param { num_output: 8 kernel_size: 3 } }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: AVE global_pooling: true } }
layer { name: "sum" type: "Reduction" bottom: "pool" top: "sum" reduction_param { axis: 1 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "sum" bottom: "label" top: "loss" }
""" + FITTING)
        short, long = self.peak(180), self.peak(1800)
        self.assertLess(long, short + (12 << 20), f"{short >> 20} MB, then {long >> 20} MB")


class Targets(DataTest):
    def test_targets_of_a_regression_that_are_no_numbers(self):
        """log(0) and log(-1) of boxes without a size: the row is named before it can reach the weights."""
        for value in (-float("inf"), float("nan")):
            write_hdf5("a.h5", {"data": ("f4", (6, 2), range(12)), "label": ("f4", (6, 1), [0, 1, 2, 3, 4, value])})
            write("list", "a.h5\n")
            net = hdf5_layer() + inner_product("ip", "data", 1) + LOSS.replace("SoftmaxWithLoss", "EuclideanLoss")
            self.assert_error(self.train(net, max_iter=9, base_lr=0.0001, snapshot=1), "iteration 2: the loss is", 'top "label"',
                              "row 5 of a.h5", "The data itself is not clean", "The last good snapshot is snap_iter_2.solverstate")


if __name__ == "__main__":
    harness.main()
