"""HDF5 files of any type and shape for the tests, by the C library that the tools themselves run with.

  write_hdf5("a.h5", {"data": ("f4", (3, 2), [0, 1, 2, 3, 4, 5]), "label": ("i4", (3,), [0, 1, 2])})

Types are f4, f8, u1, i4, i8 and str (strings of 4 bytes). Values that are None are not written: the set is chunked, one
row a chunk, and takes no room on the disk whatever its shape.
"""

import ctypes
import functools
import re
import struct
import subprocess

import harness

TYPES = {"f4": ("H5T_NATIVE_FLOAT_g", "f"), "f8": ("H5T_NATIVE_DOUBLE_g", "d"), "u1": ("H5T_NATIVE_UINT8_g", "B"),
         "i4": ("H5T_NATIVE_INT32_g", "i"), "i8": ("H5T_NATIVE_INT64_g", "q")}
STRING_BYTES = 4
ID = ctypes.c_int64  # hid_t
TRUNCATE, ALL, DEFAULT, CHUNKED = 2, 0, 0, 2  # H5F_ACC_TRUNC, H5S_ALL, H5P_DEFAULT, H5D_CHUNKED


@functools.cache
def library():
    linked = subprocess.run(["ldd", harness.tool_path("train")], capture_output=True, text=True, check=True).stdout
    hdf5 = ctypes.CDLL(re.search(r"libhdf5\S* => (\S+)", linked)[1])
    for name, arguments in {
        "H5Fcreate": [ctypes.c_char_p, ctypes.c_uint, ID, ID],
        "H5Screate_simple": [ctypes.c_int, ctypes.POINTER(ctypes.c_uint64), ctypes.c_void_p],
        "H5Dcreate2": [ID, ctypes.c_char_p, ID, ID, ID, ID, ID],
        "H5Pcreate": [ID],
        "H5Tcopy": [ID],
        "H5Fclose": [ID],
        "H5Dclose": [ID],
        "H5Dwrite": [ID, ID, ID, ID, ID, ctypes.c_void_p],
        "H5Pset_layout": [ID, ctypes.c_int],
        "H5Pset_chunk": [ID, ctypes.c_int, ctypes.POINTER(ctypes.c_uint64)],
        "H5Tset_size": [ID, ctypes.c_size_t],
    }.items():
        function = getattr(hdf5, name)
        function.argtypes = arguments
        function.restype = ID if name in ("H5Fcreate", "H5Screate_simple", "H5Dcreate2", "H5Pcreate",
                                          "H5Tcopy") else ctypes.c_int
    hdf5.H5open()
    return hdf5


def constant(name):
    return ID.in_dll(library(), name).value


def checked(result):
    assert result >= 0, "the HDF5 library refused"
    return result


def write_set(file, name, kind, shape, values):
    hdf5 = library()
    if kind == "str":
        stored = checked(hdf5.H5Tcopy(constant("H5T_C_S1_g")))
        checked(hdf5.H5Tset_size(stored, STRING_BYTES))
    else:
        stored = constant(TYPES[kind][0])
    dims = (ctypes.c_uint64 * len(shape))(*shape)
    space = checked(hdf5.H5Screate_simple(len(shape), dims, None))
    how = DEFAULT
    if values is None:
        how = checked(hdf5.H5Pcreate(constant("H5P_CLS_DATASET_CREATE_ID_g")))
        checked(hdf5.H5Pset_layout(how, CHUNKED))
        checked(hdf5.H5Pset_chunk(how, len(shape), (ctypes.c_uint64 * len(shape))(1, *shape[1:])))
    made = checked(hdf5.H5Dcreate2(file, name.encode(), stored, space, DEFAULT, how, DEFAULT))
    if values is not None:
        packed = (b"".join(text.encode().ljust(STRING_BYTES, b"\0") for text in values) if kind == "str"
                  else struct.pack(f"{len(values)}{TYPES[kind][1]}", *values))
        checked(hdf5.H5Dwrite(made, stored, ALL, ALL, DEFAULT, packed))
    checked(hdf5.H5Dclose(made))


def write_hdf5(path, sets):
    """Makes the file and gives its name."""
    hdf5 = library()
    file = checked(hdf5.H5Fcreate(path.encode(), TRUNCATE, DEFAULT, DEFAULT))
    for name, (kind, shape, values) in sets.items():
        write_set(file, name, kind, shape, values)
    checked(hdf5.H5Fclose(file))
    return path
