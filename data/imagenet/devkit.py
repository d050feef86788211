"""What the development kit of ILSVRC 2012 says: which synset each number stands for, and the validation images' numbers.

The numbers are in meta.mat, a file of MATLAB (its level 5 format: elements of a type, a size and bytes, one in the
other), of which no more is read here than that takes.
"""

import struct
import tarfile
import zlib

CLASSES = "ILSVRC2012_devkit_t12/data/meta.mat"
TRUTH = "ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt"

INT8, UINT16, UTF8, MATRIX, COMPRESSED = 1, 4, 16, 14, 15
NUMBERS = {1: "b", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 7: "f", 9: "d", 12: "q", 13: "Q"}
STRUCT_CLASS, CHAR_CLASS = 2, 4


class Damaged(Exception):
    pass


def elements(data, order):
    """The elements of a block: (type, bytes) each."""
    at = 0
    while at < len(data):
        if at + 8 > len(data):
            raise Damaged("it is truncated")
        kind, size = struct.unpack_from(order + "II", data, at)
        if kind >> 16:  # small: type and size in four bytes, up to four bytes of data behind
            kind, size = kind & 0xFFFF, kind >> 16
            begin, step = at + 4, 8
        else:
            begin = at + 8
            step = 8 + (size if kind == COMPRESSED else (size + 7) // 8 * 8)
        if begin + size > len(data):
            raise Damaged("it is truncated")
        yield kind, data[begin:begin + size]
        at += step


def numbers(kind, data, order):
    code = NUMBERS.get(kind)
    if code is None:
        raise Damaged(f"an array of type {kind}")
    return list(struct.unpack(f"{order}{len(data) // struct.calcsize(code)}{code}", data))


def matrix(data, order):
    """Name and value of an array: a text, a list of numbers, or for structures a list of dictionaries."""
    parts = list(elements(data, order))
    if len(parts) < 3:
        return "", []  # an empty array
    array_class = struct.unpack_from(order + "I", parts[0][1])[0] & 0xFF
    name = parts[2][1].decode("latin-1")
    rest = parts[3:]
    if array_class == STRUCT_CLASS:
        length = numbers(*rest[0], order)[0]
        names = rest[1][1]
        fields = [names[i:i + length].split(b"\0")[0].decode("latin-1") for i in range(0, len(names), length)]
        values = [matrix(part, order)[1] for _, part in rest[2:]]
        return name, [dict(zip(fields, values[i:i + len(fields)])) for i in range(0, len(values), len(fields))]
    if not rest:
        return name, "" if array_class == CHAR_CLASS else []
    kind, values = rest[0]
    if array_class == CHAR_CLASS:
        return name, values.decode("utf-8" if kind == UTF8 else "latin-1") if kind != UINT16 else values.decode(
            "utf-16-le" if order == "<" else "utf-16-be")
    return name, numbers(kind, values, order) if kind in NUMBERS else []


def read_matlab(data):
    """The arrays of a file by name."""
    if len(data) < 128 or data[126:128] not in (b"IM", b"MI"):
        raise Damaged("it is no MATLAB file of level 5")
    order = "<" if data[126:128] == b"IM" else ">"
    arrays = {}
    for kind, part in elements(data[128:], order):
        try:
            inner = elements(zlib.decompress(part), order) if kind == COMPRESSED else [(kind, part)]
        except zlib.error as error:
            raise Damaged(f"it cannot be unpacked ({error})") from error
        for inner_kind, inner_part in inner:
            if inner_kind == MATRIX:
                name, value = matrix(inner_part, order)
                arrays[name] = value
    return arrays


def synset_names(data):
    """{number: synset} of the synsets that have no others below them: those that images are labelled with."""
    synsets = read_matlab(data).get("synsets")
    if not synsets or not all(isinstance(one, dict) for one in synsets):
        raise Damaged("it has no structure \"synsets\"")
    names = {}
    for one in synsets:
        try:
            number, name, children = int(one["ILSVRC2012_ID"][0]), one["WNID"], int(one["num_children"][0])
        except (KeyError, IndexError) as error:
            raise Damaged(f"a synset has no {error}") from error
        if children == 0:
            names[number] = name
    return names


def read(path):
    """({number: synset}, the numbers of the validation images in their order). `path` is the kit's archive."""
    with tarfile.open(path) as archive:
        names = synset_names(archive.extractfile(CLASSES).read())
        truth = [int(line) for line in archive.extractfile(TRUTH).read().split()]
    return names, truth
