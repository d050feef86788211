#!/usr/bin/env python3
"""Bad input to the tools: one clear line that says what is wrong and where, exit code 1 (2 for a wrong command line),
nothing left behind, no crash.

  tests/tools/bad_input.py --build BUILD [unittest's arguments]
"""

import os
import random
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import time
import unittest

import harness
from harness import ACCURACY, CORPUS, LOSS, ToolTest, data_layer, datum, inner_product, png, read, run, small_net, solver, write

DUMMY = """layer {
  name: "data"
  type: "DummyData"
  top: "data"
  top: "label"
  dummy_data_param {
    shape { dim: 4 dim: 3 dim: 8 dim: 8 }
    shape { dim: 4 }
  }
}
"""


def layer(name, kind, bottoms, tops, more=""):
    """A layer of which every part has a line of its own."""
    lines = [f'name: "{name}"', f'type: "{kind}"']
    lines += [f'bottom: "{bottom}"' for bottom in bottoms.split()]
    lines += [f'top: "{top}"' for top in tops.split()]
    lines += [more] if more else []
    return "layer {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def convolution(more):
    return layer("conv", "Convolution", "data", "conv", f"convolution_param {{ {more} }}")


def pooling(more):
    return layer("pool", "Pooling", "data", "pool", f"pooling_param {{ {more} }}")


def line_of(text, part):
    """The number of the line where `part` begins."""
    return text[: text.index(part)].count("\n") + 1


class NetTest(ToolTest):
    def check_net(self, text, *expected, at=None, phase="TRAIN"):
        """describe-net and train refuse the net; `at` is the part of the text whose line they must name."""
        write("net.prototxt", text)
        write("solver.prototxt", solver())
        where = [f"net.prototxt:{line_of(text, at)}:"] if at else ["net.prototxt"]
        for result in (run("describe-net", "--model", "net.prototxt", "--phase", phase, "--threads", 1),
                       run("train", "--solver", "solver.prototxt", "--threads", 1)):
            self.assert_error(result, *where, *expected)
            self.assertEqual(result.out, "", result)
        self.assertEqual(files_but_inputs(), [])


def files_but_inputs():
    return [name for name in harness.files_below() if name not in ("net.prototxt", "solver.prototxt")]


class NetText(NetTest):
    """Files that are no net at all, or no prototxt."""

    def test_missing_file(self):
        self.assert_error(run("describe-net", "--model", "nowhere/net.prototxt"), "nowhere/net.prototxt", "No such file")

    def test_net_that_the_solver_names_is_missing(self):
        write("solver.prototxt", solver("nowhere/net.prototxt"))
        self.assert_error(run("train", "--solver", "solver.prototxt"), "solver.prototxt:1:", "nowhere/net.prototxt",
                          "No such file")

    def test_folder(self):
        os.mkdir("net.prototxt")
        write("solver.prototxt", solver())
        for result in (run("describe-net", "--model", "net.prototxt"), run("train", "--solver", "solver.prototxt")):
            self.assert_error(result, "net.prototxt is a folder, not a net")

    def test_lmdb(self):
        harness.make_lmdb("db", 3)
        self.assert_error(run("describe-net", "--model", "db"), "db is an LMDB database, not a net")

    def test_empty_file(self):
        write("net.prototxt", "")
        write("solver.prototxt", solver())
        for result in (run("describe-net", "--model", "net.prototxt"), run("train", "--solver", "solver.prototxt")):
            self.assert_error(result, "net.prototxt is empty")

    def test_html(self):
        self.check_net("<!DOCTYPE html>\n<html><body>Not Found</body></html>\n", "a web page")

    def test_git_lfs_pointer(self):
        self.check_net("version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 7\n", "Git LFS pointer")

    def test_merge_markers(self):
        text = DUMMY + "<<<<<<< HEAD\n" + inner_product("ip", "data", 3) + "=======\n>>>>>>> other\n" + LOSS
        self.check_net(text, "merge-conflict marker", at="<<<<<<<")

    def test_random_bytes(self):
        for seed in range(8):
            with self.subTest(seed=seed):
                write("net.prototxt", random.Random(seed).randbytes(3000))
                self.assert_error(run("describe-net", "--model", "net.prototxt"), "net.prototxt", "not a net")

    def test_solver_in_place_of_a_net(self):
        self.check_net(solver(), "A net was expected", "is this a solver?")

    def test_unclosed_block(self):
        self.check_net(DUMMY + LOSS.rstrip()[:-1], 'the file ends before the } of "layer {"', at='layer {\n  name: "loss"')

    def test_quote_missing(self):
        text = DUMMY.replace('type: "DummyData"', 'type: "DummyData')
        self.check_net(text, "is a quote missing?", at='type: "DummyData')

    def test_backslash_in_path(self):
        text = data_layer("C:\\Users\\x\\db")
        self.check_net(text, "in paths use / or \\\\", 'layer "data"', at="data_param")

    def test_unknown_field(self):
        text = DUMMY + convolution("num_output: 3\n kernal_size: 3")
        self.check_net(text, 'layer "conv"', 'unknown field "kernal_size"', 'did you mean "kernel_size"?', at="kernal_size")

    def test_unknown_field_of_the_net(self):
        self.check_net('name: "n"\nforce_backwards: true\n' + DUMMY, 'unknown field "force_backwards" in a net',
                       'did you mean "force_backward"?', at="force_backwards")

    def test_old_field_in_a_layer(self):
        text = DUMMY + inner_product("ip", "data", 3)[:-2] + "blobs_lr: 0\n}\n"
        self.check_net(text, 'layer "ip"', "param { lr_mult decay_mult }", at="blobs_lr")

    def test_fields_of_other_forks(self):
        cases = [
            (layer("bn", "BN", "data", "bn", "bn_param { }"), "bn_param", "SegNet"),
            (layer("x", "Data", "", "x", "transform_param { resize_param { } }"), "resize_param", "resize_short_side"),
            (layer("x", "Data", "", "x", "transform_param { fixed_crop: true }"), "fixed_crop", ""),
            (convolution("num_output: 3 kernel_size: 3\n fusion_type: SUM_FUSION"), "fusion_type", "Intel"),
        ]
        for text, word, expected in cases:
            with self.subTest(field=word):
                self.check_net(DUMMY + text, f'"{word}"', expected, 'layer "', at=word)

    def test_unknown_enum_value(self):
        text = DUMMY + pooling("kernel_size: 2\n pool: AVG")
        self.check_net(text, 'layer "pool"', '"AVG" is not a value of pool', "AVE", at="pool: AVG")

    def test_field_given_twice(self):
        text = DUMMY + layer("r", "ReLU", "data", "r", 'type: "ReLU"')
        self.check_net(text, '"type" is given twice', 'layer "r"')

    def test_number_malformed(self):
        text = DUMMY + convolution("kernel_size: 3\n num_output: many")
        self.check_net(text, 'layer "conv"', "integer", at="num_output")

    def test_number_too_large(self):
        text = DUMMY + convolution("kernel_size: 3\n num_output: 99999999999")
        self.check_net(text, 'layer "conv"', "99999999999", at="num_output")

    def test_number_negative(self):
        text = DUMMY + convolution("kernel_size: 3\n num_output: -3")
        self.check_net(text, 'layer "conv"', "-", at="num_output")

    def test_both_forms_of_layers(self):
        text = DUMMY + 'layers {\n name: "r"\n type: RELU\n bottom: "data"\n top: "data"\n}\n'
        self.check_net(text, "mixes", f"net.prototxt:{line_of(text, 'layers {')}", at="layer {")

    def test_input_dims_missing(self):
        text = 'input: "a"\ninput: "b"\n' + "input_dim: 2\n" * 7 + layer("s", "Silence", "a b", "")
        self.check_net(text, "8 input_dim", "there are 7", at="input_dim")


class NetStructure(NetTest):
    """Nets that parse but do not fit together."""

    def test_unknown_layer_type(self):
        text = DUMMY + layer("conv", "Convolutoin", "data", "conv")
        self.check_net(text, 'layer "conv"', 'unknown layer type "Convolutoin"', 'did you mean "Convolution"?',
                       at='layer {\n  name: "conv"')

    def test_unknown_old_layer_type(self):
        text = 'layers {\n  name: "r"\n  type: RELLU\n  top: "r"\n}\n'
        self.check_net(text, 'unknown V1 layer type "RELLU"', "RELU", 'layer "r"', at="type: RELLU")

    def test_layer_type_missing(self):
        text = DUMMY + 'layer {\n  name: "x"\n  bottom: "data"\n  top: "x"\n}\n'
        self.check_net(text, 'layer "x"', "no type", at='layer {\n  name: "x"')

    def test_python_layer(self):
        text = DUMMY + layer("p", "Python", "data", "p", 'python_param { module: "m" layer: "L" }')
        self.check_net(text, 'layer "p" (Python)', at='layer {\n  name: "p"')

    def test_bottom_that_nothing_produces(self):
        text = DUMMY + layer("norm_1", "ReLU", "data", "norm_1") + layer("conv2", "ReLU", "norm1", "conv2")
        self.check_net(text, 'layer "conv2" (ReLU)', 'bottom "norm1" is not produced by an earlier layer',
                       'did you mean "norm_1"?', at='layer {\n  name: "conv2"')

    def test_bottom_with_a_line_break(self):
        text = DUMMY + 'layer {\n  name: "r"\n  type: "ReLU"\n  bottom: "no\\nsuch"\n  top: "r"\n}\n'
        self.check_net(text, "such", at='layer {\n  name: "r"')

    def test_bottom_produced_later(self):
        text = DUMMY + layer("early", "ReLU", "late", "early") + layer("late", "ReLU", "data", "late")
        self.check_net(text, 'layer "early" (ReLU)', 'bottom "late" is produced only later, by layer "late"',
                       at='layer {\n  name: "early"')

    def test_bottom_removed_by_a_rule(self):
        text = (DUMMY + layer("ip", "ReLU", "data", "ip", 'include { stage: "a" }') + layer("r", "ReLU", "ip", "r"))
        self.check_net(text, 'layer "r" (ReLU)', 'bottom "ip" is not there', 'layer "ip"', 'stage "a" is not set',
                       at='layer {\n  name: "r"')
        text = DUMMY + layer("ip", "ReLU", "data", "ip", "include { phase: TEST }") + layer("r", "ReLU", "ip", "r")
        self.check_net(text, 'bottom "ip" is not there', "phase is TRAIN, not TEST", at='layer {\n  name: "r"')
        text = DUMMY + layer("ip", "ReLU", "data", "ip", "exclude { phase: TRAIN }") + layer("r", "ReLU", "ip", "r")
        self.check_net(text, 'bottom "ip" is not there', "exclude", at='layer {\n  name: "r"')

    def test_include_and_exclude(self):
        text = DUMMY + layer("r", "ReLU", "data", "r", "include { phase: TRAIN } exclude { phase: TEST }")
        self.check_net(text, 'layer "r" (ReLU)', "include", "exclude", at='layer {\n  name: "r"')

    def test_top_made_twice(self):
        text = DUMMY + layer("a", "ReLU", "data", "x") + layer("b", "TanH", "data", "x")
        self.check_net(text, 'layer "b" (TanH)', 'top "x" is already made by layer "a"', at='layer {\n  name: "b"')

    def test_number_of_bottoms(self):
        text = DUMMY + layer("loss", "SoftmaxWithLoss", "data", "loss")
        self.check_net(text, 'layer "loss" (SoftmaxWithLoss)', "2", "bottoms, not 1", at='layer {\n  name: "loss"')

    def test_number_of_tops(self):
        text = DUMMY + layer("ip", "InnerProduct", "data", "a b", "inner_product_param { num_output: 2 }")
        self.check_net(text, 'layer "ip" (InnerProduct)', "gives 1 top, not 2", at='layer {\n  name: "ip"')

    def test_number_of_loss_weights(self):
        text = DUMMY + layer("r", "ReLU", "data", "r", "loss_weight: 1 loss_weight: 2")
        self.check_net(text, 'layer "r" (ReLU)', "loss_weight", "1", "2", at='layer {\n  name: "r"')

    def test_parameters_of_a_layer_without(self):
        text = DUMMY + inner_product("ip", "data", 3)[:-2] + "param { }\nparam { }\nparam { }\n}\n"
        self.check_net(text, 'layer "ip" (InnerProduct)', "3", "2", at='layer {\n  name: "ip"')

    def test_shared_parameters_of_unequal_shape(self):
        share = 'param { name: "w" }\n}\n'
        text = (DUMMY + inner_product("a", "data", 3)[:-2] + share + inner_product("b", "data", 4)[:-2] + share)
        self.check_net(text, 'layer "b" (InnerProduct)', '"w"', "3x192", "4x192", at='layer {\n  name: "b"')

    def test_unknown_filler(self):
        text = DUMMY + inner_product("ip", "data", 3).replace("xavier", "xaver")
        self.check_net(text, 'layer "ip" (InnerProduct)', '"xaver"', '"xavier"', at='layer {\n  name: "ip"')


class NetShapes(NetTest):
    """Sizes that cannot be."""

    def test_concat(self):
        text = (DUMMY + convolution("num_output: 2 kernel_size: 3") + layer("cat", "Concat", "data conv", "cat"))
        self.check_net(text, 'layer "cat" (Concat)', "4x3x8x8", "4x2x6x6", at='layer {\n  name: "cat"')

    def test_concat_axis(self):
        text = DUMMY + layer("cat", "Concat", "data data", "cat", "concat_param { axis: 4 }")
        self.check_net(text, 'layer "cat" (Concat)', "axis 4", "4x3x8x8", at='layer {\n  name: "cat"')

    def test_euclidean_loss(self):
        text = DUMMY + inner_product("ip", "data", 3) + layer("loss", "EuclideanLoss", "ip data", "loss")
        self.check_net(text, 'layer "loss" (EuclideanLoss)', "is 4x3,", "is 4x3x8x8", at='layer {\n  name: "loss"')

    def test_number_of_items(self):
        text = DUMMY.replace("shape { dim: 4 }", "shape { dim: 5 }") + inner_product("ip", "data", 3)
        for kind in ("SoftmaxWithLoss", "EuclideanLoss", "Accuracy"):
            with self.subTest(kind=kind):
                self.check_net(text + layer("loss", kind, "ip label", "loss"), f'layer "loss" ({kind})', "is 4x3", "5",
                               at='layer {\n  name: "loss"')

    def test_number_of_labels(self):
        text = (DUMMY + convolution("num_output: 2 kernel_size: 3") + layer("loss", "SoftmaxWithLoss", "conv label", "loss"))
        self.check_net(text, 'layer "loss" (SoftmaxWithLoss)', "4x2x6x6", "144", "4", at='layer {\n  name: "loss"')

    def test_pad_not_smaller_than_kernel(self):
        self.check_net(DUMMY + pooling("pool: MAX kernel_size: 2 pad: 2 stride: 1"), 'layer "pool" (Pooling)', "pad 2",
                       "kernel 2", at='layer {\n  name: "pool"')
        self.check_net(DUMMY + pooling("pool: AVE kernel_h: 3 kernel_w: 2 pad_h: 1 pad_w: 2"), 'layer "pool" (Pooling)',
                       "pad_w 2", "kernel 2", at='layer {\n  name: "pool"')

    def test_kernel_larger_than_padded_input(self):
        self.check_net(DUMMY + convolution("num_output: 2 kernel_size: 11 pad: 1"), 'layer "conv" (Convolution)',
                       "kernel 11", "input 8", "4x3x8x8", "pad 1", at='layer {\n  name: "conv"')
        self.check_net(DUMMY + convolution("num_output: 2 kernel_size: 3 dilation: 5"), 'layer "conv" (Convolution)',
                       "kernel 3", "dilation 5", "11", "8", at='layer {\n  name: "conv"')
        self.check_net(DUMMY + pooling("kernel_size: 12 pad: 1"), 'layer "pool" (Pooling)', "kernel 12", "8", "pad 1",
                       at='layer {\n  name: "pool"')

    def test_num_output(self):
        self.check_net(DUMMY + convolution("kernel_size: 3"), 'layer "conv" (Convolution)',
                       "convolution_param.num_output is missing", at='layer {\n  name: "conv"')
        self.check_net(DUMMY + convolution("num_output: 0 kernel_size: 3"), 'layer "conv" (Convolution)',
                       "convolution_param.num_output is 0", at='layer {\n  name: "conv"')
        self.check_net(DUMMY + layer("ip", "InnerProduct", "data", "ip"), 'layer "ip" (InnerProduct)',
                       "inner_product_param.num_output is missing", at='layer {\n  name: "ip"')

    def test_kernel_size_missing(self):
        self.check_net(DUMMY + convolution("num_output: 3"), 'layer "conv" (Convolution)', "kernel_size is missing",
                       at='layer {\n  name: "conv"')
        self.check_net(DUMMY + pooling("pool: MAX"), 'layer "pool" (Pooling)', "kernel_size is missing",
                       at='layer {\n  name: "pool"')

    def test_stride_0(self):
        self.check_net(DUMMY + convolution("num_output: 2 kernel_size: 3 stride: 0"), 'layer "conv" (Convolution)',
                       "stride is 0", at='layer {\n  name: "conv"')
        self.check_net(DUMMY + pooling("kernel_size: 2 stride: 0"), 'layer "pool" (Pooling)', "stride is 0",
                       at='layer {\n  name: "pool"')

    def test_group(self):
        self.check_net(DUMMY + convolution("num_output: 4 kernel_size: 3 group: 2"), 'layer "conv" (Convolution)', "group 2",
                       "3 channels", at='layer {\n  name: "conv"')
        self.check_net(DUMMY + convolution("num_output: 4 kernel_size: 3 group: 3"), 'layer "conv" (Convolution)', "group 3",
                       "num_output 4", at='layer {\n  name: "conv"')
        self.check_net(DUMMY + convolution("num_output: 4 kernel_size: 3 group: 0"), 'layer "conv" (Convolution)', "group",
                       "0", at='layer {\n  name: "conv"')

    def test_batch_size(self):
        harness.make_lmdb("db", 3)
        for batch, expected in ((0, "can be 1 to"), (4000000000, "2147483647")):
            with self.subTest(batch=batch):
                text = data_layer("db", batch) + layer("s", "Silence", "data label", "")
                write("net.prototxt", text)
                self.assert_error(run("describe-net", "--model", "net.prototxt"), "net.prototxt:1:", 'layer "data" (Data)',
                                  "batch_size", expected)

    def test_too_large_for_memory(self):
        text = ("layer {\n name: \"data\"\n type: \"Input\"\n top: \"data\"\n input_param { shape { dim: 100000 "
                "dim: 1000 dim: 1000 dim: 1000 } }\n}\n" + layer("r", "ReLU", "data", "r"))
        write("net.prototxt", text)
        self.assert_success(run("describe-net", "--model", "net.prototxt"))  # it only looks
        text = text.replace("Input", "DummyData").replace("input_param", "dummy_data_param")
        write("net.prototxt", text)
        write("solver.prototxt", solver())
        self.assert_error(run("train", "--solver", "solver.prototxt"), "memory")


class Labels(ToolTest):
    """Labels that are no class."""

    def train(self, net):
        write("net.prototxt", net)
        write("solver.prototxt", solver())
        return run("train", "--solver", "solver.prototxt", "--threads", 1)

    def hdf5(self, label):
        """A training on 5 rows of which row 3 has this label."""
        shutil.copy(os.path.join(CORPUS, "data", "hdf5_one", "a.h5"), "a.h5")
        content = read("a.h5")
        at = content.index(struct.pack("<5f", 0, 1, 2, 3, 4)) + 3 * 4
        write("a.h5", content[:at] + struct.pack("<f", label) + content[at + 4:])
        write("list.txt", "a.h5\n")
        return ('layer {\n name: "data"\n type: "HDF5Data"\n top: "data"\n top: "label"\n'
                ' hdf5_data_param { source: "list.txt" batch_size: 4 }\n}\n' + inner_product("ip", "data", 5) + LOSS)

    def test_out_of_range_in_lmdb(self):
        labels = [index % 10 for index in range(40)]
        labels[21] = 200
        harness.make_lmdb("db", 40, labels)
        net = small_net("db", outputs=10)
        self.assert_error(self.train(net), f"net.prototxt:{line_of(net, LOSS)}:", 'layer "loss" (SoftmaxWithLoss)',
                          "label 200", "item 5", 'record "00000021"', "db", "0..9", "labels start at 0")

    def test_one_more_than_classes(self):
        harness.make_lmdb("db", 9, [0, 1, 2, 3, 4, 5, 6, 7, 8])
        self.assert_error(self.train(small_net("db", outputs=8)), "label 8", 'record "00000008"', "0..7")

    def test_negative_in_lmdb(self):
        harness.make_small_lmdb("db", [(b"a.png", datum(label=3)), (b"b.png", datum(label=-1))])
        self.assert_error(self.train(small_net("db", batch=2)), 'layer "loss" (SoftmaxWithLoss)', "label -1",
                          'record "b.png"', "0..9")

    def test_accuracy(self):
        harness.make_lmdb("good", 8, [1] * 8)
        harness.make_lmdb("bad", 8, [1, 1, 1, 1, 1, 1, 77, 1])
        write("net.prototxt", data_layer("good", phase="TRAIN") + data_layer("bad", phase="TEST")
              + inner_product("ip", "data", 10) + ACCURACY + LOSS.replace("}\n", " include { phase: TRAIN }\n}\n"))
        write("solver.prototxt", solver(test_iter=1, test_interval=2))
        self.assert_error(run("train", "--solver", "solver.prototxt", "--threads", 1), 'layer "accuracy" (Accuracy)',
                          "label 77", 'record "00000006"', "bad", "0..9")

    def test_out_of_range_in_hdf5(self):
        for label, shown in ((5, "5"), (-1, "-1"), (float("nan"), "nan"), (1e10, "1e+10"), (float("inf"), "inf")):
            with self.subTest(label=shown):
                self.assert_error(self.train(self.hdf5(label)), 'layer "loss" (SoftmaxWithLoss)', f"label {shown} of",
                                  "row 3 of a.h5", "0..4")

    def test_good_hdf5(self):
        self.assert_success(self.train(self.hdf5(3)))


class Lmdb(ToolTest):
    """Sources that cannot be read."""

    def tools(self, net=None):
        """What the two tools that open a source say."""
        write("net.prototxt", net or small_net("db"))
        write("solver.prototxt", solver())
        return (run("train", "--solver", "solver.prototxt", "--threads", 1),
                run("describe-net", "--model", "net.prototxt", "--phase", "TRAIN"))

    def check(self, *expected, net=None):
        for result in self.tools(net):
            self.assert_error(result, "net.prototxt:2:", 'layer "data" (Data)', *expected)

    def test_missing(self):
        self.check("db", "does not exist", os.getcwd())

    def test_absolute_path_without_its_slash(self):
        harness.make_lmdb("db", 3)
        path = os.path.abspath("db")
        self.check(path[1:], f'did you mean "{path}"?', net=small_net(path[1:]))

    def test_dangling_link(self):
        os.symlink("gone", "db")
        self.check("db", "symbolic link to gone, which does not exist")

    def test_empty_folder(self):
        os.mkdir("db")
        self.check("db", "holds no data.mdb")

    def test_empty_path(self):
        self.check("source", net=small_net(""))

    def test_empty_file(self):
        write("db/data.mdb", "")
        self.check("data.mdb", "is not an LMDB", "0 bytes")

    def test_no_records(self):
        harness.make_small_lmdb("db", [])
        self.check("db", "is empty: it holds no records")

    def test_random_bytes(self):
        write("db/data.mdb", random.Random(1).randbytes(20000))
        self.check("data.mdb", "is not an LMDB")

    def test_leveldb(self):
        shutil.copytree(os.path.join(CORPUS, "data", "leveldb_raw", "db"), "db")
        self.check("db", "is a LevelDB, not an LMDB")

    def test_lmdb_for_a_leveldb(self):
        harness.make_lmdb("db", 3)
        self.check("db", "is an LMDB, not a LevelDB", net=small_net("db").replace("LMDB", "LEVELDB"))
        self.check("db", "without backend: it is taken for a LevelDB", net=small_net("db").replace("backend: LMDB", ""))

    def test_hdf5_file(self):
        shutil.copy(os.path.join(CORPUS, "data", "hdf5_one", "a.h5"), "db")
        self.check("db", "is not an LMDB")

    def test_truncated(self):
        harness.make_lmdb("db", 400)
        content = read("db/data.mdb")
        for size in (1, 100, 4096, 8191, 8192, 12288, len(content) // 2, len(content) - 4096, len(content) - 1):
            with self.subTest(size=size):
                write("db/data.mdb", content[:size])
                self.check("db")

    def test_bit_flips(self):
        """Any bit may be wrong: a clean error, or success where the bit did not matter."""
        harness.make_lmdb("db", 200)
        content = read("db/data.mdb")
        write("net.prototxt", small_net("db", batch=50))
        write("solver.prototxt", solver(max_iter=5, snapshot_after_train="false"))
        codes = []
        for seed in range(40):
            generator = random.Random(seed)
            damaged = bytearray(content)
            # Half of them in the first pages, where most bits matter.
            end = len(damaged) if seed % 2 else 8192 + 4096
            for _ in range(generator.choice([1, 10, 100])):
                damaged[generator.randrange(end)] ^= 1 << generator.randrange(8)
            write("db/data.mdb", damaged)
            result = run("train", "--solver", "solver.prototxt", "--threads", 1)
            with self.subTest(seed=seed):
                if result.code == 0:
                    self.assert_success(result)
                else:
                    self.assert_error(result, "db")
            codes.append(result.code)
        self.assertEqual(set(codes), {0, 1})

    def test_read_only(self):
        harness.make_lmdb("db", 20)
        os.chmod("db/data.mdb", stat.S_IRUSR)
        os.chmod("db", stat.S_IRUSR | stat.S_IXUSR)
        try:
            for result in self.tools():
                self.assert_success(result)
            self.assertEqual(os.listdir("db"), ["data.mdb"])
        finally:
            os.chmod("db", stat.S_IRWXU)

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_unreadable(self):
        harness.make_lmdb("db", 20)
        os.chmod("db/data.mdb", 0)
        self.check("data.mdb", "Permission denied")


class Records(ToolTest):
    """Records of an LMDB that are no picture."""

    def check(self, record, *expected, first=True):
        """With the bad record first it is found before training, else when its turn comes."""
        for good_key in ((b"b",) if first else (b"",)) + (b"00",):
            with self.subTest(good=good_key):
                bad_key = b"a" if good_key == b"b" else b"0001"
                shutil.rmtree("db", ignore_errors=True)
                harness.make_small_lmdb("db", [(good_key or b"0000", datum(label=3)), (bad_key, record)])
                write("net.prototxt", small_net("db", batch=2))
                write("solver.prototxt", solver())
                self.assert_error(run("train", "--solver", "solver.prototxt", "--threads", 1), 'layer "data" (Data)', "db",
                                  f'record "{bad_key.decode()}"', *expected)

    def test_no_bytes(self):
        self.check(b"")

    def test_random_bytes(self):
        self.check(b"\xff\x01\x02random")

    def test_too_few_bytes(self):
        self.check(datum(data=bytes(63)), "63", "64")

    def test_both_kinds_of_data(self):
        self.check(datum(floats=[1.0] * 64))

    def test_encoded(self):
        self.check(datum(data=b"\xff\xd8\xff\xe0 JPEG", encoded=True), "the 9 bytes begin like a JPEG image, but cannot be decoded")
        self.check(datum(data=b"no picture", encoded=True), "the 10 bytes cannot be decoded as an image")

    def test_encoded_without_saying_so(self):
        self.check(datum(data=b"\xff\xd8\xff\xe0 JPEG"))

    def test_negative_size(self):
        self.check(datum(height=-8, data=bytes(64)), "-8")

    def test_other_shape(self):
        harness.make_small_lmdb("db", [(b"0", datum(label=3)), (b"1", datum(height=4, data=bytes(32)))])
        write("net.prototxt", small_net("db", batch=2))
        write("solver.prototxt", solver())
        self.assert_error(run("train", "--solver", "solver.prototxt", "--threads", 1), 'record "1"', "1x4x8", "1x8x8")

    def test_crop_larger_than_the_picture(self):
        harness.make_lmdb("db", 4)
        net = small_net("db").replace("scale: 0.00390625", "crop_size: 9")
        write("net.prototxt", net)
        self.assert_error(run("describe-net", "--model", "net.prototxt"), "net.prototxt:2:", 'layer "data" (Data)',
                          'record "00000000"', "crop_size", "9", "8")

    def test_mean_file(self):
        harness.make_lmdb("db", 4)
        net = small_net("db").replace("scale: 0.00390625", 'mean_file: "mean.binaryproto"')
        write("net.prototxt", net)
        self.assert_error(run("describe-net", "--model", "net.prototxt"), 'layer "data" (Data)', "mean.binaryproto",
                          "No such")
        write("mean.binaryproto", "hello\n")
        self.assert_error(run("describe-net", "--model", "net.prototxt"), 'layer "data" (Data)', "mean.binaryproto")
        blob = b"\x08\x01\x10\x01\x18\x04\x20\x04" + b"\x2a\x40" + bytes(64)  # 1 x 1 x 4 x 4
        write("mean.binaryproto", blob)
        self.assert_error(run("describe-net", "--model", "net.prototxt"), 'layer "data" (Data)', "mean.binaryproto",
                          "1x4x4", "1x8x8")


class Hdf5(ToolTest):
    def check(self, *expected, net=None):
        write("net.prototxt", net or (
            'layer {\n name: "rows"\n type: "HDF5Data"\n top: "data"\n top: "label"\n'
            ' hdf5_data_param { source: "list.txt" batch_size: 4 }\n}\n' + inner_product("ip", "data", 5) + LOSS))
        write("solver.prototxt", solver())
        for result in (run("train", "--solver", "solver.prototxt", "--threads", 1),
                       run("describe-net", "--model", "net.prototxt", "--phase", "TRAIN")):
            self.assert_error(result, "net.prototxt:1:", 'layer "rows" (HDF5Data)', *expected)

    def test_no_list(self):
        self.check("list.txt", "No such file")

    def test_empty_list(self):
        write("list.txt", "\n")
        self.check("list.txt lists no HDF5 files")

    def test_missing_file(self):
        write("list.txt", "gone.h5\n")
        self.check("list.txt", "gone.h5", "does not exist")

    def test_not_hdf5(self):
        write("list.txt", "a.h5\n")
        write("a.h5", "hello")
        self.check("list.txt", "a.h5", "HDF5")

    def test_hdf5_in_place_of_the_list(self):
        shutil.copy(os.path.join(CORPUS, "data", "hdf5_one", "a.h5"), "list.txt")
        self.check("list.txt")

    def test_truncated(self):
        write("list.txt", "a.h5\n")
        content = read(os.path.join(CORPUS, "data", "hdf5_one", "a.h5"))
        for size in (7, 100, 1000, 2000, len(content) - 30):
            with self.subTest(size=size):
                write("a.h5", content[:size])
                self.check("a.h5")

    def test_dataset_missing(self):
        write("list.txt", "a.h5\n")
        shutil.copy(os.path.join(CORPUS, "data", "hdf5_one", "a.h5"), "a.h5")
        self.check('a.h5 has no dataset "labels"', net=(
            'layer {\n name: "rows"\n type: "HDF5Data"\n top: "data"\n top: "labels"\n'
            ' hdf5_data_param { source: "list.txt" batch_size: 4 }\n}\n'))


class Weights(ToolTest):
    """Weight files and states that do not fit, or are something else."""

    def setUp(self):
        super().setUp()
        harness.make_lmdb("db", 20)
        write("net.prototxt", small_net("db"))
        write("solver.prototxt", solver(max_iter=2, momentum=0.9))
        self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1))
        self.weights, self.state = "snap_iter_2.caffemodel", "snap_iter_2.solverstate"

    def tools(self, file, net="net.prototxt"):
        """What the tools that read weights say."""
        write("fine.prototxt", solver(net, max_iter=2, snapshot_prefix='"fine"'))
        return (run("train", "--solver", "fine.prototxt", "--weights", file, "--threads", 1),
                run("test", "--model", net, "--weights", file, "--iterations", 1, "--threads", 1),
                run("describe-net", "--model", net, "--weights", file))

    def check(self, file, *expected):
        for result in self.tools(file):
            self.assert_error(result, file, *expected)
            self.assertFalse([line for line in result.log if "Iteration" in line], result)
        self.assertEqual([name for name in harness.files_below() if name.startswith("fine_")], [])

    def resume(self, state, *expected, name="solver.prototxt"):
        before = harness.files_below()
        result = run("train", "--solver", name, "--snapshot", state, "--threads", 1)
        self.assert_error(result, *expected)
        self.assertEqual(harness.files_below(), before)

    def test_good(self):
        for result in self.tools(self.weights):
            self.assert_success(result)

    def test_missing(self):
        self.check("gone.caffemodel", "No such file")

    def test_second_file_is_missing(self):
        for result in self.tools(self.weights + ",gone.caffemodel")[:2]:
            self.assert_error(result, "gone.caffemodel", "No such file")

    def test_folder(self):
        os.mkdir("folder")
        self.check("folder", "folder")

    def test_lmdb(self):
        self.check("db", "LMDB")
        self.check("db/data.mdb", "LMDB")

    def test_prototxt(self):
        self.check("net.prototxt", "text")

    def test_state_given_as_weights(self):
        self.check(self.state, "solver state", "--snapshot")

    def test_empty(self):
        write("empty", "")
        self.check("empty", "is empty")

    def test_truncated(self):
        content = read(self.weights)
        for size in (1, 10, 100, len(content) // 2, len(content) - 1):
            with self.subTest(size=size):
                write("cut", content[:size])
                self.check("cut")

    def test_random_bytes(self):
        write("junk", random.Random(3).randbytes(5000))
        self.check("junk")

    def test_html(self):
        write("page.caffemodel", "<html><body>404</body></html>")
        self.check("page.caffemodel", "a web page")

    def test_hdf5_of_data(self):
        shutil.copy(os.path.join(CORPUS, "data", "hdf5_one", "a.h5"), "a.h5")
        self.check("a.h5")

    def test_other_shape(self):
        write("wide.prototxt", small_net("db", outputs=12))
        train, test, describe = self.tools(self.weights, "wide.prototxt")
        for result in (train, test):
            self.assert_error(result, self.weights, 'layer "ip"', "blob 0", "10x64", "12x64")
        self.assertEqual(describe.code, 1, describe)
        self.assertRegex(describe.out, r"ip +12x64.* +10x64.* +DIFFERS")

    def test_other_number_of_blobs(self):
        text = small_net("db").replace("num_output: 10", "num_output: 10 bias_term: false")
        write("nobias.prototxt", text)
        train, test, describe = self.tools(self.weights, "nobias.prototxt")
        for result in (train, test):
            self.assert_error(result, self.weights, 'layer "ip"', "2 blobs", "1")
        self.assertEqual(describe.code, 1, describe)

    def test_nothing_in_common(self):
        text = small_net("db").replace('"ip"', '"other"')
        write("other.prototxt", text)
        train, test, describe = self.tools(self.weights, "other.prototxt")
        self.assert_error(test, self.weights, "nothing fits", "small")
        self.assertTrue([line for line in train.warnings if "nothing fits" in line and self.weights in line], train)
        self.assertEqual(train.code, 0, train)
        self.assertIn("not in the net", describe.out)

    def test_bit_flips(self):
        content = read(self.weights)
        for seed in range(15):
            generator = random.Random(seed)
            damaged = bytearray(content)
            for _ in range(3):
                damaged[generator.randrange(200 if seed % 3 else len(damaged))] ^= 1 << generator.randrange(8)
            write("flipped", damaged)
            with self.subTest(seed=seed):
                result = run("test", "--model", "net.prototxt", "--weights", "flipped", "--iterations", 1, "--threads", 1)
                if result.code == 0:
                    self.assert_success(result)
                else:
                    self.assert_error(result)

    def test_missing_state(self):
        self.resume("gone.solverstate", "gone.solverstate", "No such file")
        self.resume("7", "there is no snapshot of iteration 7", "snap_iter_7.solverstate")

    def test_weights_given_as_state(self):
        self.resume(self.weights, self.weights, "weights", "did you mean --weights?")

    def test_other_things_given_as_state(self):
        os.mkdir("folder")
        write("empty", "")
        write("junk", random.Random(3).randbytes(5000))
        for name in ("folder", "empty", "junk", "db", "db/data.mdb", "net.prototxt"):
            with self.subTest(name=name):
                self.resume(name, name)

    def test_state_truncated(self):
        content = read(self.state)
        for size in (1, 10, 100, len(content) // 2, len(content) - 1):
            with self.subTest(size=size):
                write("cut.solverstate", content[:size])
                self.resume("cut.solverstate", "cut.solverstate")

    def test_state_of_another_net(self):
        write("net.prototxt", small_net("db", outputs=12))
        self.resume(self.state, self.state, "history 0", "10x64", "12x64", 'layer "ip"')

    def test_state_of_another_solver_type(self):
        write("solver.prototxt", solver(type='"Adam"', max_iter=2))
        self.resume(self.state, self.state, "solver type SGD, this one has Adam", f"--weights {self.weights}")

    def test_weights_of_the_state_are_gone(self):
        os.remove(self.weights)
        self.resume(self.state, self.state, self.weights)

    def test_no_snapshot_to_test(self):
        write("solver.prototxt", solver(test_iter=1, test_interval=1, snapshot_prefix='"none"'))
        self.assert_error(run("test", "--solver", "solver.prototxt", "--snapshot", "auto"), "no snapshot of none")

    def test_solver_without_test_net(self):
        self.assert_error(run("test", "--solver", "solver.prototxt", "--snapshot", "2"), "solver.prototxt", "no test net")


class Health(ToolTest):
    """Trainings that go to pieces."""

    def setUp(self):
        super().setUp()
        harness.make_lmdb("db", 40)
        write("net.prototxt", small_net("db").replace('0.00390625', '1'))

    def test_rate_too_high(self):
        write("solver.prototxt", solver(base_lr=0.001, max_iter=3))
        self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1))
        write("solver.prototxt", solver(base_lr=1e37, max_iter=20))
        before = {name: read(name) for name in ("snap_iter_3.caffemodel", "snap_iter_3.solverstate")}
        result = run("train", "--solver", "solver.prototxt", "--threads", 1, "--snapshot", "3")
        self.assert_error(result, "iteration ", "it began in ", 'layer "', "base_lr is 1e+37",
                          "The last good snapshot is snap_iter_3.solverstate")
        self.assertEqual({name: read(name) for name in before}, before)
        self.assertEqual([name for name in harness.files_below() if name.endswith("solverstate")], ["snap_iter_3.solverstate"])

    def test_update_out_of_range(self):
        """The weights break in the update after which there is a snapshot: none is made of them."""
        write("solver.prototxt", solver(base_lr=1e38, max_iter=20, snapshot=1))
        result = run("train", "--solver", "solver.prototxt", "--threads", 1)
        self.assert_error(result, "iteration 1: ", 'parameter 0 of layer "ip", so no snapshot is made')
        self.assertFalse([name for name in harness.files_below() if name.startswith("snap")])

    def test_keep_going(self):
        write("solver.prototxt", solver(base_lr=1e38, max_iter=5))
        result = self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1, "--keep_going"))
        self.assertEqual(len([line for line in result.warnings if "training goes on" in line]), 1, result)
        self.assertTrue(os.path.exists("snap_iter_5.solverstate"))

    def test_loss_at_its_ceiling(self):
        """A net that gives the right class the probability 0 from the start."""
        write("net.prototxt", data_layer("db").replace("db", "zeros") + inner_product("ip", "data", 10).replace(
            "inner_product_param", "param { lr_mult: 0 } param { lr_mult: 0 } blobs { shape { dim: 10 dim: 64 } "
            + "data: 0 " * 640 + "} blobs { shape { dim: 10 } data: 1000 " + "data: 0 " * 9 + "} inner_product_param")
            + LOSS)
        harness.make_lmdb("zeros", 16, [3] * 16)
        write("solver.prototxt", solver(max_iter=9, display=1))
        result = self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1))
        self.assertEqual(len([line for line in result.warnings if "has been 87.3365 for 3 displays" in line]), 1, result)


class Solvers(ToolTest):
    """Values of a solver that make no sense."""

    def check(self, text, *expected, at=None, where="solver.prototxt:", files=("net.prototxt", "solver.prototxt")):
        """train refuses the solver and writes nothing; `at` is the part of the text whose line it must name."""
        if not os.path.exists("net.prototxt"):
            write("net.prototxt", DUMMY + inner_product("ip", "data", 3) + LOSS)
        write("solver.prototxt", text)
        result = run("train", "--solver", "solver.prototxt", "--threads", 1)
        where = f"solver.prototxt:{line_of(text, at)}:" if at else where
        self.assert_error(result, where, *expected)
        self.assertEqual(harness.files_below(), sorted(files))

    def test_good(self):
        write("net.prototxt", DUMMY + inner_product("ip", "data", 3) + LOSS)
        write("solver.prototxt", solver())
        self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1))

    def test_missing(self):
        self.assert_error(run("train", "--solver", "gone.prototxt"), "gone.prototxt", "No such file")

    def test_fields_beyond_caffe(self):
        for field, expected in (("max_epochs: 2", "both say how long to train"),
                                ("test_interval: 5\ntest_epochs: 2", "both say when to test"),
                                ("snapshot_keep_last: -1", "cannot be negative"),
                                ("early_stop_tests: 1", "needs snapshot_best"),
                                ('snapshot_best: "loss"', "there is no test net"),
                                ("warmup_iter: -1", "cannot be negative"),
                                ("min_lr: 1", "between 0 and base_lr, which is 0.01")):
            with self.subTest(field=field):
                self.check(solver() + field, expected, at=field.split("\n")[-1].split(":")[0])

    def test_rampup_is_warmup(self):
        self.check(solver() + "rampup_lr: 0.1", "warmup_start_lr is given without warmup_iter", at="rampup_lr")
        self.check(solver() + "rampup_interval: -1", "warmup_iter", "cannot be negative", at="rampup_interval")

    def test_folder(self):
        os.mkdir("solver.prototxt")
        self.assert_error(run("train", "--solver", "solver.prototxt"), "solver.prototxt is a folder, not a solver")

    def test_empty(self):
        write("solver.prototxt", "")
        self.assert_error(run("train", "--solver", "solver.prototxt"), "solver.prototxt is empty")

    def test_net_given(self):
        self.check(DUMMY, "is this a net?")

    def test_random_bytes(self):
        write("solver.prototxt", random.Random(5).randbytes(2000))
        self.assert_error(run("train", "--solver", "solver.prototxt"), "solver.prototxt", "a solver is a text file")

    def test_unknown_field(self):
        self.check(solver(weight_deacy=0.1), 'unknown field "weight_deacy"', 'did you mean "weight_decay"?',
                   at="weight_deacy")

    def test_field_of_a_fork(self):
        self.check(solver(larc="true"), '"larc"', "NVIDIA", at="larc")

    def test_lr_policy(self):
        self.check(solver(lr_policy='"multi_step"'), 'lr_policy "multi_step"', 'did you mean "multistep"?', "sigmoid",
                   at="lr_policy")
        self.check(solver(lr_policy=None), "lr_policy is missing")

    def test_base_lr_missing(self):
        self.check(solver(base_lr=None), "base_lr is missing")

    def test_stepsize(self):
        self.check(solver(lr_policy='"step"', gamma=0.1, stepsize=0), "stepsize is 0", "step", at="stepsize")
        self.check(solver(lr_policy='"step"', gamma=0.1), "stepsize", "step")

    def test_gamma(self):
        self.check(solver(lr_policy='"exp"', gamma=-1), "gamma is -1", "exp", at="gamma")

    def test_stepvalues(self):
        self.check(solver(lr_policy='"multistep"', gamma=0.1, stepvalue=[10, 5]), "stepvalue 5", "10", at="stepvalue: 5")

    def test_sizes(self):
        self.check(solver(iter_size=0), "iter_size is 0", at="iter_size")
        self.check(solver(average_loss=0), "average_loss is 0", at="average_loss")
        self.check(solver(max_iter=-1), "max_iter is -1", at="max_iter")

    def test_type(self):
        self.check(solver(type='"Nestrov"'), 'solver type "Nestrov"', 'did you mean "Nesterov"?', at="type")

    def test_old_and_new_type(self):
        self.check(solver(type='"SGD"', solver_type="ADAM"), "both type and the old solver_type", at="solver_type")

    def test_momentum_with_adagrad(self):
        self.check(solver(type='"AdaGrad"', momentum=0.9), "momentum is 0.9", "AdaGrad", at="momentum")

    def test_rms_decay(self):
        self.check(solver(type='"RMSProp"', rms_decay=1.5), "rms_decay is 1.5", at="rms_decay")

    def test_regularization(self):
        self.check(solver(weight_decay=0.1, regularization_type='"L3"'), 'regularization_type "L3"', "L1 or L2",
                   at="regularization_type")

    def test_two_nets(self):
        self.check(solver(train_net='"net.prototxt"'), "exactly one of", "2")

    def test_no_net(self):
        self.check(solver(None), "exactly one of", "0")

    def test_test_iter_without_test_interval(self):
        self.check(solver(test_iter=1), "test_interval is 0", at="test_iter")

    def test_test_iter_0(self):
        self.check(solver(test_iter=0, test_interval=2), "test_iter is 0", at="test_iter")

    def test_test_net_without_test_iter(self):
        self.check(solver(test_net='"net.prototxt"', test_interval=2), "test_iter", "1", "0")

    def test_test_states(self):
        self.check(solver(test_iter=1, test_interval=2, test_state=["{ }", "{ }"]).replace(": {", " {"), "test_state", "1",
                   "2")

    def test_test_net_with_other_shapes(self):
        write("test.prototxt", DUMMY + inner_product("ip", "data", 4) + LOSS)
        self.check(solver(None, train_net='"net.prototxt"', test_net='"test.prototxt"', test_iter=1,
                          test_interval=2), "test.prototxt:11:", 'layer "ip"', "4x192", "3x192",
                   where="test net #0", files=("net.prototxt", "solver.prototxt", "test.prototxt"))

    def test_snapshot_folder_missing(self):
        """Found before the net is built, not hours later: the source, which is not there either, is not looked at."""
        write("net.prototxt", small_net("no_such_db"))
        self.check(solver(snapshot_prefix='"gone/snap"'), "folder gone", "snapshot_prefix", "does not exist",
                   at="snapshot_prefix")

    def test_snapshot_folder_is_a_file(self):
        write("file", "")
        self.check(solver(snapshot_prefix='"file/snap"'), "file", "snapshot_prefix", "not a folder", at="snapshot_prefix",
                   files=("net.prototxt", "solver.prototxt", "file"))

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_snapshot_folder_read_only(self):
        os.mkdir("locked", 0o500)
        self.check(solver(snapshot_prefix='"locked/snap"'), "locked", "snapshot_prefix", "Permission denied",
                   at="snapshot_prefix")

    def test_probe_file_of_a_killed_process(self):
        """In containers process numbers come back: one that died while it tried the folder must not block the next."""
        write("net.prototxt", DUMMY + inner_product("ip", "data", 3) + LOSS)
        write("solver.prototxt", solver())
        command = f"touch .crema_probe_$$; exec {harness.tool_path('train')} --solver solver.prototxt"
        done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout.decode())

    def test_weights_missing(self):
        self.check(solver(weights='"gone.caffemodel"'), "gone.caffemodel", "No such file", at="weights")

    def test_gpu(self):
        self.check(solver(solver_mode="GPU"), "solver_mode: GPU", "--devices cpu", at="solver_mode")
        write("solver.prototxt", solver(solver_mode="GPU"))
        self.assert_success(run("train", "--solver", "solver.prototxt", "--devices", "cpu", "--threads", 1))

    def test_gpu_flag(self):
        write("net.prototxt", DUMMY + inner_product("ip", "data", 3) + LOSS)
        write("solver.prototxt", solver())
        self.assert_error(run("train", "--solver", "solver.prototxt", "--gpu", 0), "--gpu 0", "CPU")

    def test_gpu_flag_that_names_no_gpu(self):
        for gpu in ("x", "0,x", "-1", "0 1"):
            self.assert_usage_error(run("train", "--solver", "gone.prototxt", f"--gpu={gpu}"),
                                    f'--gpu is "{gpu}"; it can be ids of GPUs, separated by commas, or all')

    def test_data_threads(self):
        for flag in ("-1", "100000"):
            self.assert_usage_error(run("train", "--solver", "gone.prototxt", f"--data_threads={flag}"),
                                    f"--data_threads is {flag}; it can be 0 (one a core) to 1024")


class CommandLines(ToolTest):
    """Exit code 2."""

    def test_unknown_flag(self):
        self.assert_usage_error(run("train", "--solvr", "s"), "train: unknown flag --solvr", 'did you mean "solver"?')
        self.assert_usage_error(run("test", "--modell=m"), "unknown flag --modell", 'did you mean "model"?')
        self.assert_usage_error(run("describe-net", "-explan"), "unknown flag --explan", 'did you mean "explain"?')
        self.assert_usage_error(run("convert-idx", "--shuffle", "a", "b", "c"), "unknown flag --shuffle")

    def test_flag_missing(self):
        self.assert_usage_error(run("train"), "--solver is missing")
        self.assert_usage_error(run("train", "--solver="), "--solver is missing")
        self.assert_usage_error(run("test"), "--model and --weights")
        self.assert_usage_error(run("test", "--model", "m"), "--model and --weights")
        self.assert_usage_error(run("test", "--solver", "s"), "--solver and --snapshot")
        self.assert_usage_error(run("describe-net"), "--model is missing")

    def test_value_missing(self):
        self.assert_usage_error(run("train", "--solver"), "solver")

    def test_malformed_number(self):
        self.assert_usage_error(run("train", "--solver", "s", "--threads", "two"), "threads", "two")
        self.assert_usage_error(run("test", "--model", "m", "--weights", "w", "--iterations=1e3"), "iterations", "1e3")
        self.assert_usage_error(run("train", "--solver", "s", "--level", "99999999999"), "level", "99999999999")

    def test_negative_number(self):
        self.assert_usage_error(run("test", "--model", "m", "--weights", "w", "--iterations=-1"), "--iterations")

    def test_malformed_bool(self):
        self.assert_usage_error(run("test", "--model", "m", "--weights", "w", "--all=perhaps"), "all", "perhaps")

    def test_extra_argument(self):
        self.assert_usage_error(run("train", "--solver", "s", "extra"), 'unexpected argument "extra"')
        self.assert_usage_error(run("test", "--model", "m", "--weights", "w", "extra"), 'unexpected argument "extra"')
        self.assert_usage_error(run("describe-net", "--model", "m", "extra"), 'unexpected argument "extra"')
        self.assert_usage_error(run("convert-idx", "a", "b", "c", "d"), 'unexpected argument "d"')

    def test_too_few_arguments(self):
        self.assert_usage_error(run("convert-idx", "a", "b"), "too few arguments")

    def test_flags_that_exclude_each_other(self):
        self.assert_usage_error(run("train", "--solver", "s", "--snapshot", "x", "--weights", "y"), "--snapshot",
                                "--weights")
        self.assert_usage_error(run("test", "--model", "m", "--weights", "w", "--all", "--iterations", 3), "--all",
                                "--iterations")
        self.assert_usage_error(run("test", "--model", "m", "--weights", "w", "--solver", "s", "--snapshot", "auto"),
                                "--model", "--solver")
        # Of these, one would be passed over in silence.
        for arguments in (["--model", "m", "--weights", "w", "--snapshot", "5"],
                          ["--solver", "s", "--snapshot", "5", "--weights", "w"]):
            with self.subTest(arguments=arguments):
                self.assert_usage_error(run("test", *arguments), "--snapshot", "--weights")

    def test_more_threads_than_any_machine_has(self):
        write("net.prototxt", DUMMY + inner_product("ip", "data", 3) + LOSS)
        write("solver.prototxt", solver())
        for tool, flag, file in (("train", "--solver", "solver.prototxt"), ("describe-net", "--model", "net.prototxt")):
            result = run(tool, flag, file, "--threads", 100000)
            self.assertEqual(result.code, 2, result)
            self.assertIn("--threads is 100000; it can be 0 (one a core) to 1024", result.others[0], result)

    def test_unknown_word(self):
        cases = [
            (("describe-net", "--model", "m", "--phase", "TRIAN"), ("TRAIN or TEST", "TRIAN")),
            (("train", "--solver", "s", "--sigint_effect", "quit"), ("sigint_effect", "quit", "stop, snapshot or none")),
            (("train", "--solver", "s", "--sighup_effect", "quit"), ("sighup_effect", "quit")),
            (("train", "--solver", "s", "--devices", "gpu7"), ("--devices", "gpu7")),
            (("describe-net", "--model", "m", "--input_shape", "data:1x2"), ("data:1x2",)),
            (("train", "--solver", "s", "--threads=-1"), ("threads", "-1")),
            (("describe-net", "--model", "m", "--dialect", "amd"), ("--dialect", "amd", "nvidia")),
            (("upgrade-net", "a", "b", "--dialect", "amd"), ("--dialect", "amd", "nvidia")),
            (("upgrade-solver", "a"), ("too few arguments",)),
            (("convert-imageset", "--backend", "sqlite", "a", "b", "c"), ('lmdb or leveldb, not "sqlite"',)),
            (("convert-imageset", "--encode_type", "tga", "a", "b", "c"), ('--encode_type is "tga"', "jpg, pgm, png")),
            (("convert-imageset", "--label_count", "0", "a", "b", "c"), ("--label_count is 0",)),
            (("convert-imageset", "--threads=100000", "a", "b", "c"), ("--threads is 100000; it can be 0",)),
            (("convert-folder", "--test_fraction=1.5", "--test_db=b", "a", "c"), ("--test_fraction is 1.5",)),
            (("convert-folder", "--test_fraction=0.5", "--test_db=./b", "a", "b"), ("--test_db is ./b, as the other",)),
            (("make-shapes", "--threads=100000", "a"), ("--threads is 100000; it can be 0",)),
            (("convert-imageset", "--threads=-2", "a", "b", "c"), ("--threads is -2",)),
            (("convert-imageset", "--resize_height=50000", "--resize_width=50000", "a", "b", "c"),
             ("--resize_height=50000 --resize_width=50000", "a record holds 2 GB")),
            (("convert-folder", "--test_fraction=0.5", "a", "b"), ("give both or neither",)),
            (("convert-folder", "--test_fraction=1", "--test_db=t", "a", "b"), ("between 0 and 1",)),
            (("convert-idx", "--seed=3", "a", "b", "c"), ("--seed has no effect without --pairs",)),
            (("convert-idx", "--backend=sqlite", "a", "b", "c"), ('lmdb or leveldb, not "sqlite"',)),
            (("make-shapes", "--encoded", "a"), ("--encoded has no effect without --db",)),
            (("convert-cifar", "a", "b", "sqlite"), ('lmdb or leveldb, not "sqlite"',)),
            (("convert-cifar", "--label=coarse", "a", "b"), ("--label has no effect without --cifar100",)),
            (("convert-cifar", "--cifar100", "--label=all", "a", "b"), ('--label is "all"', "fine, coarse or both")),
            (("compute-image-mean", "--backend", "sqlite", "a"), ('lmdb or leveldb, not "sqlite"',)),
            (("convert-text", "--streams", "0", "a", "b"), ("streams is 0",)),
            (("convert-text", "--test_share", "2", "a", "b"), ("tests is 2", "between 0 and 1")),
        ]
        for arguments, expected in cases:
            with self.subTest(arguments=arguments):
                self.assert_usage_error(run(*arguments), *expected)

    def test_help(self):
        pictures = "gray shuffle seed backend resize_height resize_width check_size encoded encode_type " \
                   "skip_bad_records threads"
        source = "backend root label_count gray resize_height resize_width dataset label_dataset threads"
        flags = {
            "train": "solver weights snapshot gpu devices threads level stage sigint_effect sighup_effect dialect keep_going "
                     "skip_bad_records data_threads",
            "test": "model weights solver snapshot iterations all gpu devices threads level stage dialect skip_bad_records "
                    "data_threads",
            "describe-net": "model phase gpu devices level stage weights input_shape threads explain dialect",
            "upgrade-net": "binary dialect",
            "upgrade-solver": "dialect",
            "convert-cifar": "cifar100 label",
            "convert-folder": "test_fraction test_db " + pictures,
            "convert-idx": "pairs backend seed",
            "convert-imageset": "label_count float_labels " + pictures,
            "convert-text": "streams test_share",
            "make-shapes": "count size classes seed distractors db backend encoded threads",
            "compute-image-mean": "skip_bad_records " + source,
            "describe-data": "sample model phase level stage dialect " + source,
            "export-data": "format from count label skip_bad_records " + source,
            "extract-features": "gpu devices threads level stage dialect skip_bad_records data_threads",
        }
        synopses = {
            "upgrade-net": "upgrade-net IN OUT",
            "upgrade-solver": "upgrade-solver IN OUT",
            "convert-cifar": "convert-cifar [--cifar100 [--label fine|coarse|both]] FOLDER OUT [lmdb|leveldb]",
            "convert-folder": "convert-folder [flags] FOLDER DB",
            "convert-idx": "convert-idx [--pairs] IMAGES LABELS DB",
            "convert-imageset": "convert-imageset [flags] ROOT LIST DB",
            "convert-text": "convert-text [--streams N] [--test_share X] TEXT FOLDER",
            "make-shapes": "make-shapes [flags] OUT",
            "compute-image-mean": "compute-image-mean [flags] SOURCE [OUT]",
            "describe-data": "describe-data [flags] SOURCE",
            "export-data": "export-data [flags] SOURCE DIR",
            "extract-features": "extract-features WEIGHTS NET BLOB,… DB,… BATCHES|all lmdb|leveldb [CPU|GPU] [ID]",
        }
        for name, words in flags.items():
            for form in ("--help", "-help", "-h"):
                with self.subTest(tool=name, form=form):
                    result = self.assert_success(run(name, form))
                    self.assertEqual(result.err, "")
                    for word in words.split():
                        self.assertRegex(result.out, rf"(?m)^  --{word}( |$)")
                    self.assertIn(synopses.get(name, f"{name} --"), result.out)
            sources = read(os.path.join(harness.SOURCE, "tools", name.replace("-", "_") + ".cpp")).decode()
            for header in ("common_flags.h", "convert_flags.h", "data_flags.h", "dialect_flag.h", "source_flags.h",
                           "threads_flag.h"):
                if f'#include "{header}"' in sources:
                    sources += read(os.path.join(harness.SOURCE, "tools", header)).decode()
            defined = re.findall(r"^DEFINE_\w+\(\s*(\w+)", sources, re.MULTILINE)
            self.assertEqual(sorted(words.split()), sorted(defined), "a flag is not tested here")

    def test_version(self):
        result = self.assert_success(run("train", "--version"))
        self.assertIn("0.", result.out)

    def test_closed_pipe_behind_an_error(self):
        """An error that nobody can read is still an error and no crash."""
        reader, writer = os.pipe()
        os.close(reader)
        for arguments in (["--solver", "gone"], ["--solvr", "gone"]):
            process = harness.start("train", *arguments, stderr=writer)
            self.assertIn(process.wait(timeout=30), (1, 2))
        os.close(writer)

    def test_closed_pipe_behind_a_table(self):
        """describe-net | head is no error."""
        layers = "".join(layer(f"r{index}", "ReLU", "data", f"r{index}") for index in range(1000))
        write("net.prototxt", DUMMY.replace("dim: 3 dim: 8 dim: 8", "dim: 2") + layers)
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([harness.tool_path("describe-net"), "--model", "net.prototxt"], stdout=writer,
                              stderr=subprocess.PIPE, timeout=30)
        os.close(writer)
        self.assertEqual(done.stderr, b"")


class FullDisk(ToolTest):
    """Files that cannot be written to their end. A limit on the size of files stands for the disk."""

    def limited(self, size, name, *arguments):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that writing fails, as on a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        return run(name, *arguments, preexec_fn=limit)

    def check_snapshot(self, form, ending):
        harness.make_lmdb("db", 20)
        write("net.prototxt", small_net("db"))
        write("solver.prototxt", solver(max_iter=2, snapshot_format=form))
        before = harness.files_below()
        for size in (100, 2000):
            with self.subTest(size=size):
                result = self.limited(size, "train", "--solver", "solver.prototxt", "--threads", 1)
                self.assert_error(result, "cannot write", "snap_iter_2.caffemodel" + ending)
                self.assertEqual(harness.files_below(), before)

    def test_snapshot(self):
        self.check_snapshot("BINARYPROTO", "")

    def test_hdf5_snapshot(self):
        self.check_snapshot("HDF5", ".h5")

    def test_former_snapshot_stays(self):
        """The weights fit on the disk, the larger state does not: what there was is there still."""
        harness.make_lmdb("db", 20)
        write("net.prototxt", small_net("db"))
        write("solver.prototxt", solver(max_iter=2, type='"Adam"', snapshot=1))
        self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1))
        before = {name: read(name) for name in harness.files_below()}
        self.assertLess(len(before["snap_iter_1.caffemodel"]), 4000)
        self.assertGreater(len(before["snap_iter_1.solverstate"]), 4000)
        result = self.limited(4000, "train", "--solver", "solver.prototxt", "--threads", 1)
        self.assert_error(result, "cannot write", "snap_iter_1.solverstate")
        self.assertEqual({name: read(name) for name in harness.files_below()}, before)

    def test_snapshot_name_is_a_folder(self):
        """The reason is that of the call that failed."""
        harness.make_lmdb("db", 20)
        write("net.prototxt", small_net("db"))
        write("solver.prototxt", solver(max_iter=2))
        os.mkdir("snap_iter_2.caffemodel")
        self.assert_error(run("train", "--solver", "solver.prototxt", "--threads", 1), "snap_iter_2.caffemodel is a folder")

    def test_hdf5_output(self):
        write("net.prototxt", DUMMY + layer("out", "HDF5Output", "data label", "", 'hdf5_output_param { file_name: "out.h5" }'))
        write("solver.prototxt", solver(max_iter=50, snapshot_after_train="false"))
        before = harness.files_below()
        result = self.limited(100000, "train", "--solver", "solver.prototxt", "--threads", 1)
        self.assert_error(result, 'layer "out" (HDF5Output)', "out.h5")
        self.assertEqual(harness.files_below(), before)

    def test_convert_idx(self):
        harness.write_idx("images", (100, 20, 20), bytes(40000))
        harness.write_idx("labels", (100,), bytes(100))
        before = harness.files_below()
        # The second limit is reached in the middle of a write; liblmdb itself has a reason for the first.
        for size, reason in ((100, "No space left on device"), (20000, "File too large")):
            with self.subTest(size=size):
                self.assert_error(self.limited(size, "convert-idx", "images", "labels", "db"), "db", reason)
                self.assertEqual(harness.files_below(), before)
                self.assertFalse(os.path.exists("db"))


class ConvertIdx(ToolTest):
    def setUp(self):
        super().setUp()
        harness.write_idx("images", (3, 2, 2), range(12))
        harness.write_idx("labels", (3,), range(3))

    def check(self, *expected, images="images", labels="labels", db="db"):
        before = harness.files_below()
        self.assert_error(run("convert-idx", images, labels, db), *expected)
        self.assertEqual(harness.files_below(), before)
        if db == "db":
            self.assertFalse(os.path.exists("db"))

    def test_good(self):
        result = self.assert_success(run("convert-idx", "images", "labels", "db"))
        self.assertEqual(result.out, "db: 3 records\n")

    def test_missing(self):
        self.check("gone", "No such file", images="gone")
        self.check("gone", "No such file", labels="gone")

    def test_folder(self):
        os.mkdir("folder")
        self.check("folder", images="folder")

    def test_wrong_magic(self):
        write("images", b"\x89PNG\r\n" + bytes(100))
        self.check("images is not an IDX file", "89504e47")

    def test_other_type(self):
        write("images", struct.pack(">BBBBI", 0, 0, 0x0D, 1, 1) + bytes(4))
        self.check("images", "0x0d", "unsigned bytes")

    def test_truncated(self):
        content = read("images")
        for size in (0, 3, 10, len(content) - 1):
            with self.subTest(size=size):
                write("images", content[:size])
                self.check("images")

    def test_header_that_lies(self):
        write("images", struct.pack(">BBBBIII", 0, 0, 8, 3, 2**31, 2**31, 2**31) + bytes(12))
        self.check("images")
        write("images", struct.pack(">BBBBIII", 0, 0, 8, 3, 3, 2**20, 2**20) + bytes(12))
        self.check("images", "truncated")

    def test_too_long(self):
        write("images", read("images") + b"x")
        self.check("images", "goes on after")

    def test_counts_differ(self):
        harness.write_idx("labels", (4,), range(4))
        self.check("3 images in images", "4 labels in labels")

    def test_swapped(self):
        self.check("images and labels swapped?", images="labels", labels="images")

    def test_no_images(self):
        harness.write_idx("images", (0, 2, 2), [])
        harness.write_idx("labels", (0,), [])
        self.check("images holds no images")

    def test_corrupt_gz(self):
        write("images", b"\x1f\x8b\x08\x00" + random.Random(1).randbytes(200))
        self.check("images")

    def test_existing(self):
        os.mkdir("db")
        write("db/precious", "mine")
        before = harness.files_below()
        self.assert_error(run("convert-idx", "images", "labels", "db"), "db exists already")
        self.assertEqual(harness.files_below(), before)

    def test_folder_of_the_db_missing(self):
        self.check("gone/db", "No such file", db="gone/db")


class ConvertImageset(ToolTest):
    def setUp(self):
        super().setUp()
        write("in/a.png", png())
        write("in/b c.png", png(3, 1))
        write("list", "a.png 1\nb c.png 2\r\n")

    def check(self, *expected, flags=(), db="db"):
        before = harness.files_below()
        self.assert_error(run("convert-imageset", *flags, "in/", "list", db), *expected)
        self.assertEqual(harness.files_below(), before)

    def test_good(self):
        for number, flags in enumerate(([], ["--encoded"], ["--gray", "--resize_height=4", "--resize_width=4"])):
            result = self.assert_success(run("convert-imageset", *flags, "in/", "list", f"db{number}"))
            self.assertEqual(result.out, f"db{number}: 2 records\n")

    def test_list(self):
        os.remove("list")
        self.check("cannot open list: No such file")
        write("list", "")
        self.check("list lists no images")
        write("list", "a.png 1\nb.png\n")
        self.check('list:2: "b.png" has no label')
        write("list", "a.png one\n")
        self.check('list:1: the label "one" of "a.png" is not a number')
        write("list", "a.png 0.5\n")
        self.check('list:1: the label "0.5" of "a.png" is not a whole number of 32 bits; --float_labels stores such labels')

    def test_bad_images(self):
        write("in/bad.png", png()[:40])
        write("list", "a.png 1\ngone.png 2\nbad.png 3\n")
        self.check("2 of 3 images", "--skip_bad_records", "list:2: cannot open in/gone.png", "list:3: in/bad.png")
        result = self.assert_success(run("convert-imageset", "--skip_bad_records", "in/", "list", "db"))
        self.assertEqual(result.out, "db: 1 records, 2 images skipped\n")
        self.assertEqual(len(result.warnings), 2, result)

    def test_root_without_its_slash(self):
        self.assert_error(run("convert-imageset", "in", "list", "db"), "cannot open ina.png")

    def test_sizes(self):
        self.check("list:2: in/b c.png: the image is 3x1x3, but the first one is 3x2x2", flags=["--check_size"])

    def test_existing(self):
        write("db", "mine")
        self.check("db exists already")
        self.check("cannot create gone/db", db="gone/db")

    def test_flags(self):
        os.chdir(os.environ["CREMA_TOOL_TESTS"])
        os.mkdir(os.path.join(self.folder, "empty"))
        os.chdir(os.path.join(self.folder, "empty"))
        for flags, text in ((["--resize_height=4"], "give both"), (["--resize_height=-4", "--resize_width=4"], "give both"),
                            (["--encode_type=pn"], '--encode_type is "pn"')):
            self.assert_usage_error(run("convert-imageset", *flags, "a", "b", "c"), text)

    def test_name_that_is_too_long(self):
        name = 300 * "x" + ".png"
        write("list", f"a.png 1\n{name} 2\n")
        self.check("1 of 2 images", f"list:2: cannot open in/{name}: File name too long")
        result = self.assert_success(run("convert-imageset", "--skip_bad_records", "in/", "list", "db"))
        self.assertEqual(result.out, "db: 1 records, 1 images skipped\n")

    def test_bytes_that_text_has_not(self):
        write("list", b"\xef\xbb\xbfa.png 1\n")
        self.assert_success(run("convert-imageset", "in/", "list", "db"))
        self.assertIn(b"00000000_a.png", read("db/data.mdb"))
        write("list", b"a.png 1\nb\0c.png 2\n")
        self.check("list:2: a NUL byte", db="db2")


class Stopped(ToolTest):
    """What signals leave of half-made data bases: nothing."""

    def check(self, number, *command):
        before = harness.files_below()
        with open("err", "wb") as err:
            process = harness.start(*command, stderr=err)
        try:
            self.wait_for(lambda: [name for name in os.listdir(".") if ".tmp-" in name] or process.poll() is not None,
                          "a temporary folder")
            time.sleep(0.2)
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=20), 1, read("err"))
        finally:
            process.kill()
            process.wait()
        last = read("err").decode().splitlines()[-1]
        os.remove("err")
        self.assertEqual(last, f"{command[0]}: error: stopped by a signal; nothing was written")
        self.assertEqual(harness.files_below(), before)
        self.assertEqual([name for name in os.listdir(".") if name.startswith("db2")], [])

    def test_convert_imageset(self):
        write("a.png", png())
        write("list", 300000 * "a.png 1\n")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                self.check(number, "convert-imageset", "./", "list", "db2")

    def test_convert_idx(self):
        harness.write_idx("images", (3000000, 2, 2), bytes(12000000))
        harness.write_idx("labels", (3000000,), bytes(3000000))
        self.check(signal.SIGTERM, "convert-idx", "images", "labels", "db2")

    def test_extract_features(self):
        harness.make_lmdb("db", 20)
        write("net.prototxt", small_net("db"))
        write("solver.prototxt", solver(max_iter=1))
        self.assert_success(run("train", "--solver", "solver.prototxt", "--threads", 1))
        self.check(signal.SIGTERM, "extract-features", "--threads", 1, "snap_iter_1.caffemodel", "net.prototxt", "ip", "db2",
                   100000000, "lmdb")


class Outputs(ToolTest):
    """What takes the place of what is there, and what is written to as it is."""

    OLD = 'layers { name: "r" type: RELU bottom: "x" top: "y" }'

    def upgrade(self, out, **options):
        write("old", self.OLD)
        return run("upgrade-net", "old", out, **options)

    def test_standard_output(self):
        result = self.upgrade("/dev/stdout")
        self.assertEqual(result.code, 0, result)
        self.assertIn('type: "ReLU"', result.out)
        self.assertNotIn("upgraded", result.out)
        self.assertIn("upgraded: ", result.others[0])

    def test_devices(self):
        for path in ("/dev/null", "/dev/full"):
            before = os.stat(path)
            result = self.upgrade(path)
            self.assertEqual(os.stat(path).st_rdev, before.st_rdev)
            if path == "/dev/null":
                self.assert_success(result)
            else:
                self.assert_error(result, "cannot write /dev/full: No space left on device")

    def test_pipe(self):
        os.mkfifo("pipe")
        reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE)
        self.assert_success(self.upgrade("pipe"))
        self.assertIn(b'type: "ReLU"', reader.communicate(timeout=20)[0])
        self.assertTrue(stat.S_ISFIFO(os.stat("pipe").st_mode))

    def test_links(self):
        write("folder/target", "x")
        os.symlink("folder/target", "link")
        os.symlink("link", "second")
        self.assert_success(self.upgrade("second"))
        os.symlink("folder/new", "dangling")
        self.assert_success(self.upgrade("dangling"))
        for name, target in (("link", "target"), ("second", "target"), ("dangling", "new")):
            self.assertTrue(os.path.islink(name))
            self.assertIn(b'type: "ReLU"', read("folder/" + target))
        self.assertEqual(sorted(os.listdir("folder")), ["new", "target"])

    def test_mode(self):
        for mode in (0o600, 0o444, 0o664):
            write(f"out{mode}", "x")
            os.chmod(f"out{mode}", mode)
            self.assert_success(self.upgrade(f"out{mode}"))
            self.assertEqual(stat.S_IMODE(os.stat(f"out{mode}").st_mode), mode)

    def test_folder(self):
        os.mkdir("out")
        self.assert_error(self.upgrade("out"), "out is a folder")
        harness.make_lmdb("db", 3)
        self.assert_error(run("compute-image-mean", "db", "out"), "out is a folder")
        write("text", 100 * "abc")
        os.mkdir("new")
        self.assert_error(run("convert-text", "--streams", 2, "text", "new"), "new exists already")
        self.assert_error(run("convert-text", "--streams", 2, "text", "gone/new"), "cannot create gone/new: No such file")

    def test_up_to_date(self):
        for tool, text in (("upgrade-net", "# mine\n" + inner_product("ip", "data", 3)), ("upgrade-solver", "# mine\n" + solver())):
            write("file", text)
            result = self.assert_success(run(tool, "file", "file"))
            self.assertEqual(result.out, "file is up to date; it was left as it is\n")
            self.assertEqual(read("file").decode(), text)

    def test_comments(self):
        write("file", "# mine\n" + self.OLD)
        result = self.assert_success(run("upgrade-net", "file", "file"))
        self.assertTrue(result.out.endswith("the comments of file are gone\n"), result)


class ComputeImageMean(ToolTest):
    def test_good(self):
        harness.make_small_lmdb("db", [(b"0", datum(data=bytes([10] * 64))), (b"1", datum(data=bytes([20] * 64)))])
        result = self.assert_success(run("compute-image-mean", "db", "mean"))
        self.assertIn("mean_value channel [0]: 15", result.log)
        self.assertTrue(os.path.exists("mean"))

    def test_bad(self):
        self.assert_error(run("compute-image-mean", "db"), "db does not exist (in ")
        harness.make_small_lmdb("db", [(b"0", datum()), (b"1", datum(height=4))])
        self.assert_error(run("compute-image-mean", "db", "mean"), 'db: record "1": the image is 1x4x8')
        self.assert_error(run("compute-image-mean", "db", "gone/mean"), "gone")
        self.assert_error(run("compute-image-mean", "--backend", "leveldb", "db"), "db is an LMDB, not a LevelDB")
        self.assertEqual(harness.files_below(), ["db/data.mdb"])


class ExtractFeatures(ToolTest):
    def setUp(self):
        super().setUp()
        harness.make_lmdb("db", 5)
        write("net.prototxt", small_net("db", batch=2))
        write("solver.prototxt", solver(max_iter=1))
        run("train", "--solver", "solver.prototxt", "--threads", 1)

    def extract(self, *arguments):
        return run("extract-features", "--threads", 1, *arguments)

    def test_good(self):
        self.assert_success(self.extract("snap_iter_1.caffemodel", "net.prototxt", "ip,data", "a,b", "all", "lmdb", "CPU"))
        self.assertEqual(sorted(os.listdir("a")), ["data.mdb"])

    def test_bad(self):
        before = harness.files_below()
        weights = "snap_iter_1.caffemodel"
        for arguments, text in (
            ((weights, "net.prototxt", "iq", "a", 1, "lmdb"), 'the net has no blob "iq"; did you mean "ip"?'),
            ((weights, "net.prototxt", "ip", "db", 1, "lmdb"), "db exists already"),
            (("gone", "net.prototxt", "ip", "a", 1, "lmdb"), "gone"),
            ((weights, "gone", "ip", "a", 1, "lmdb"), "gone"),
            ((weights, "net.prototxt", "ip,data", "a,a", 1, "lmdb"), "two blobs have the same data base"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_error(self.extract(*arguments), text)
                self.assertEqual(harness.files_below(), before)

    def test_usage(self):
        for arguments, text in (
            (("w", "net.prototxt", "ip,data", "a", 1, "lmdb"), "2 blobs, but 1 data bases"),
            (("w", "net.prototxt", "ip", "a", 0, "lmdb"), "BATCHES is a number from 1 on"),
            (("w", "net.prototxt", "ip", "a", 1, "lmdb", "TPU"), "CPU or GPU"),
            (("w", "net.prototxt", "ip", "a", 1, "sqlite"), 'lmdb or leveldb, not "sqlite"'),
            (("w", "net.prototxt", "ip", "a", 1), "too few arguments"),
        ):
            result = self.extract(*arguments)
            self.assertEqual(result.code, 2, result)
            self.assertIn(text, result.others[0])


class ImageData(ToolTest):
    """Image lists and window files that a net names."""

    def check(self, layer_text, *expected):
        write("net.prototxt", layer_text)
        self.assert_error(run("describe-net", "--model", "net.prototxt"), "net.prototxt:1:", *expected)

    def test_image_list(self):
        text = layer("data", "ImageData", "", "data label", 'image_data_param { source: "list" batch_size: 2 }')
        self.check(text, "cannot open list")
        write("list", "a.png 0\n")
        self.check(text, "list:1: cannot open a.png: No such file")
        write("list", 300 * "x" + " 0\n")
        self.check(text, "list:1: cannot open xxx", "File name too long")
        write("list", b"\xef\xbb\xbfa.png 0\n")
        write("a.png", png()[:30])
        self.check(text, "list:1: a.png: the 30 bytes begin like a PNG image",
                   "it is cut short")
        self.check(text.replace("batch_size", "new_width: 4 batch_size"), "give both or neither")

    def test_hdf5_list(self):
        text = layer("data", "HDF5Data", "", "data label", 'hdf5_data_param { source: "list" batch_size: 2 }')
        file = os.path.join(CORPUS, "data", "hdf5_one", "a.h5")
        shutil.copy(file, "list")
        self.check(text, "source is a text file that lists HDF5 files; list is an HDF5 file itself")
        shutil.copy(file, "a.h5")
        write("list", b"\xef\xbb\xbfa.h5\n")
        self.assert_success(run("describe-net", "--model", "net.prototxt"))
        write("list", b"a.h5\nb\0.h5\n")
        self.check(text, "list:2: a NUL byte")

    def test_window_file(self):
        text = layer("data", "WindowData", "", "data label",
                     'transform_param { crop_size: 4 } window_data_param { source: "windows" batch_size: 2 }')
        self.check(text, "cannot open windows")
        write("windows", "# 0\na.png\n\0\n")
        self.check(text, "windows:3: a NUL byte")
        write("windows", "\ufeff# 0\na.png\n3\n4\n4\n1\n1 0.5 0 0 3\n")
        self.check(text, "windows:8: the file ends where a window's y2 should come")
        self.check(text.replace("crop_size", "scale"), "transform_param.crop_size is 0")


if __name__ == "__main__":
    harness.main()
