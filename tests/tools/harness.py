"""What the tests of the command-line tools share: running a tool, and making the files that it reads.

Only Python's standard library. A test script ends with `harness.main()`, which takes --build and goes to a temporary
folder, so that all paths in a test are relative to a folder that is empty at its start.
"""

import argparse
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(SOURCE, "tests", "data", "conformance")
SIZE = 8  # pictures are SIZE x SIZE
CLASSES = 10

# I20261201 10:42:42.152376  6983 training_log.cpp:42] text
LOG_LINE = re.compile(r"^[IWEF]\d{4}(?:\d{4})? \d\d:\d\d:\d\d\.\d{6} +\d+ [\w.]+:\d+\] (.*)$")

_tools = ""


class Result:
    """What a tool did. `log` are the texts of its log lines, `others` the lines of standard error that are none."""

    def __init__(self, name, arguments, code, out, err, seconds):
        self.name, self.code, self.out, self.err, self.seconds = name, code, out, err, seconds
        self.command = " ".join([name, *arguments])
        self.lines = err.splitlines()
        self.log = [match.group(1) for match in map(LOG_LINE.match, self.lines) if match]
        self.others = [line for line in self.lines if not LOG_LINE.match(line)]
        self.warnings = [line for line in self.lines if line.startswith("W") and LOG_LINE.match(line)]

    def __str__(self):
        return f"{self.command}\nexit code {self.code} after {self.seconds:.1f} s\n{self.out}{self.err}"


def tool_path(name):
    return os.path.join(_tools, name)


def tool_environment():
    # Idle threads of one test must not take the cores that another one needs.
    return dict(os.environ, GOMP_SPINCOUNT="2000")


def run(name, *arguments, timeout=60, **options):
    """Runs a tool to its end. A tool that hangs is an exception."""
    arguments = [str(argument) for argument in arguments]
    start = time.monotonic()
    done = subprocess.run([tool_path(name), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout, env=tool_environment(), **options)
    return Result(name, arguments, done.returncode, done.stdout.decode("utf-8", "replace"),
                  done.stderr.decode("utf-8", "replace"), time.monotonic() - start)


def start(name, *arguments, stderr, **options):
    """Starts a tool in the background."""
    return subprocess.Popen([tool_path(name), *map(str, arguments)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=stderr, env=tool_environment(), **options)


def write(path, content):
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def can_mount():
    """Whether a small disk can be made: in a mount namespace of its own, so that it goes with the command."""
    try:
        return subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def files_below(folder="."):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)


# Data.


def write_idx(path, shape, values):
    """An IDX file of unsigned bytes."""
    return write(path, struct.pack(">BBBB", 0, 0, 8, len(shape)) + struct.pack(f">{len(shape)}I", *shape)
                 + bytes(values))


def make_lmdb(path, records, labels=None, size=SIZE, seed=1):
    """An LMDB of random pictures, by convert-idx."""
    generator = random.Random(seed)
    labels = labels if labels is not None else [generator.randrange(CLASSES) for _ in range(records)]
    write_idx(path + ".images", (records, size, size), generator.randbytes(records * size * size))
    write_idx(path + ".labels", (records,), labels)
    done = run("convert-idx", path + ".images", path + ".labels", path)
    os.remove(path + ".images")
    os.remove(path + ".labels")
    assert done.code == 0, done
    return path


def png(width=2, height=2, channels=3, pixels=None):
    """A picture, written here. `pixels` are its rows one behind the other."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    size = width * channels
    pixels = bytes(value % 256 for value in range(size)) * height if pixels is None else bytes(pixels)
    rows = b"".join(b"\0" + pixels[row * size:(row + 1) * size] for row in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def varint(value):
    value &= (1 << 64) - 1  # a negative number takes ten bytes
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def datum(channels=1, height=SIZE, width=SIZE, data=None, label=0, floats=(), encoded=False):
    """A serialized Datum."""
    data = bytes(channels * height * width) if data is None else data
    out = b"\x08" + varint(channels) + b"\x10" + varint(height) + b"\x18" + varint(width)
    if data:
        out += b"\x22" + varint(len(data)) + data
    out += b"\x28" + varint(label)
    for value in floats:
        out += b"\x35" + struct.pack("<f", value)
    return out + (b"\x38\x01" if encoded else b"")


def make_small_lmdb(path, records):
    """An LMDB of any (key, value) pairs, written here: one leaf page, so 4 KB in all at most. convert-idx refuses to make
    most of what the tests want to read."""
    page_size = 4096

    def meta(number):
        no_page = 2**64 - 1
        free = struct.pack("<IHHQQQQQ", page_size, 8, 0, 0, 0, 0, 0, no_page)
        main = struct.pack("<IHHQQQQQ", 0, 0, 1 if records else 0, 0, 1 if records else 0, 0, len(records),
                           2 if records else no_page)
        body = struct.pack("<IIQQ", 0xBEEFC0DE, 1, 0, 1 << 20) + free + main
        body += struct.pack("<QQ", 2 if records else 1, number)
        return (struct.pack("<QHHI", number, 0, 8, 0) + body).ljust(page_size, b"\0")

    pages = meta(0) + meta(1)
    if records:
        page = bytearray(page_size)
        upper, offsets = page_size, []
        for key, value in sorted(records):
            node = struct.pack("<IHH", len(value), 0, len(key)) + key + value
            upper -= len(node) + len(node) % 2
            page[upper:upper + len(node)] = node
            offsets.append(upper)
        lower = 16 + 2 * len(offsets)
        assert lower <= upper, "more than one page"
        page[:lower] = struct.pack(f"<QHHHH{len(offsets)}H", 2, 0, 2, lower, upper, *offsets)
        pages += bytes(page)
    write(os.path.join(path, "data.mdb"), pages)
    return path


def read_small_lmdb(path):
    """The (key, value) pairs of an LMDB whose records lie in one page."""
    content = read(os.path.join(path, "data.mdb"))
    page_size = 4096
    # The newer of the two descriptions: magic number … root page … transaction.
    newest = max((0, page_size), key=lambda at: struct.unpack_from("<Q", content, at + 16 + 128)[0])
    root = struct.unpack_from("<Q", content, newest + 16 + 24 + 48 + 40)[0] * page_size
    flags, lower = struct.unpack_from("<HH", content, root + 10)
    assert flags & 2, "the root is no leaf"
    records = []
    for index in range((lower - 16) // 2):
        at = root + struct.unpack_from("<H", content, root + 16 + 2 * index)[0]
        low, high, node_flags, key_size = struct.unpack_from("<HHHH", content, at)
        assert node_flags == 0, "a value in pages of its own"
        key = content[at + 8:at + 8 + key_size]
        records.append((key, content[at + 8 + key_size:at + 8 + key_size + (low | high << 16)]))
    return records


def datum_floats(value):
    """float_data of a Datum that holds nothing else but its sizes."""
    return [struct.unpack("<f", value[at + 1:at + 5])[0] for at in range(value.index(b"\x35"), len(value), 5)]


# Nets.


def data_layer(source, batch=8, phase=None, name="data"):
    include = f"  include {{ phase: {phase} }}\n" if phase else ""
    return f"""layer {{
  name: "{name}"
  type: "Data"
  top: "data"
  top: "label"
{include}  transform_param {{ scale: 0.00390625 }}
  data_param {{ source: "{source}" batch_size: {batch} backend: LMDB }}
}}
"""


def inner_product(name, bottom, outputs):
    return f"""layer {{
  name: "{name}"
  type: "InnerProduct"
  bottom: "{bottom}"
  top: "{name}"
  inner_product_param {{ num_output: {outputs} weight_filler {{ type: "xavier" }} }}
}}
"""


LOSS = """layer {
  name: "loss"
  type: "SoftmaxWithLoss"
  bottom: "ip"
  bottom: "label"
  top: "loss"
}
"""
ACCURACY = """layer {
  name: "accuracy"
  type: "Accuracy"
  bottom: "ip"
  bottom: "label"
  top: "accuracy"
  include { phase: TEST }
}
"""


def small_net(source, batch=8, outputs=CLASSES):
    """Linear classification: 650 parameters."""
    return 'name: "small"\n' + data_layer(source, batch) + inner_product("ip", "data", outputs) + ACCURACY + LOSS


def solver(net="net.prototxt", **fields):
    """A solver. Keyword arguments replace its fields: None removes one, a list repeats it; strings bring their quotes."""
    values = dict(net=net and f'"{net}"', base_lr=0.01, lr_policy='"fixed"', max_iter=4, snapshot_prefix='"snap"',
                  random_seed=1)
    values.update(fields)
    text = ""
    for name, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                text += f"{name}: {one}\n"
    return text


class ToolTest(unittest.TestCase):
    """Each test has an empty folder of its own as its working directory."""

    longMessage = True

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix=self.id().rpartition(".")[2] + "-", dir=os.environ["CREMA_TOOL_TESTS"])
        os.chdir(self.folder)

    def tearDown(self):
        os.chdir(os.environ["CREMA_TOOL_TESTS"])
        shutil.rmtree(self.folder, ignore_errors=True)

    def assert_success(self, result):
        self.assertEqual(result.code, 0, result)
        self.assertEqual(result.others, [], result)
        return result

    def assert_error(self, result, *expected, seconds=10):
        """Exit code 1 and one line that begins with the tool's name and holds all that is expected."""
        self.assertEqual(result.code, 1, result)
        self.assertEqual(len(result.others), 1, result)
        line = result.others[0]
        self.assertTrue(line.startswith(f"{result.name}: error: "), result)
        for text in expected:
            self.assertIn(text, line, result.command)
        self.assertNotIn("internal error", line, result.command)
        self.assertLess(result.seconds, seconds, result)
        left = [name for name in files_below() if ".tmp" in name or ".crema_probe" in name]
        self.assertEqual(left, [], f"left behind by {result.command}")
        return line

    def assert_usage_error(self, result, *expected):
        """Exit code 2, the reason first."""
        self.assertEqual(result.code, 2, result)
        self.assertTrue(result.others, result)
        for text in expected:
            self.assertIn(text, result.others[0], result)
        self.assertEqual(files_below(), [], result)

    def wait_for(self, condition, what, seconds=30):
        """Polls until `condition` gives something."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.005)
        self.fail(f"waited {seconds} s in vain: {what}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, help="the folder of the build, whose tools are tested")
    arguments, rest = parser.parse_known_args()
    global _tools
    _tools = os.path.join(os.path.abspath(arguments.build), "tools")
    with tempfile.TemporaryDirectory(prefix="crema-tools-") as folder:
        os.environ["CREMA_TOOL_TESTS"] = folder
        os.chdir(folder)
        program = unittest.main(module="__main__", argv=[sys.argv[0], *rest], exit=False)
        os.chdir("/")
    sys.exit(0 if program.result.wasSuccessful() else 1)
