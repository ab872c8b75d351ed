"""Reads rows of a plankton worker into numpy, as docs/remote.md describes the wire format.

    rows.py URL SEED EPOCH SAMPLE…

prints type, shape and SHA-256 of every value of every row, for a definition with one reader.
"""
import hashlib
import http.client
import struct
import sys
import urllib.parse

import numpy

TYPES = {1: "u1", 2: "i1", 3: "<u2", 4: "<i2", 5: "<u4", 6: "<i4", 7: "<u8", 8: "<i8",
         9: "<f2", 10: "<f4", 11: "<f8", 12: "?"}


def read(answer, n):
    data = answer.read(n)  # of chunks as well as of a whole body
    if len(data) != n:
        raise EOFError("the answer ends early")
    return data


def value(answer):
    kind, dims, letters, _ = read(answer, 4)
    layout = read(answer, letters).decode()
    shape = struct.unpack("<%dI" % dims, read(answer, 4 * dims))
    kind = numpy.dtype(TYPES[kind])
    count = int(numpy.prod(shape, dtype=numpy.int64))
    return layout, numpy.frombuffer(read(answer, count * kind.itemsize), kind).reshape(shape)


def rows(host, seed, keys, token=None):
    """Yields for each key, a tuple of an epoch and a sample for each reader, the row's values."""
    headers = {"Authorization": "Bearer " + token} if token else {}
    worker = http.client.HTTPConnection(host, timeout=30)
    worker.request("GET", "/v1/fingerprint", headers=headers)
    lines = worker.getresponse().read().decode().rstrip("\n")
    headers["Plankton-Fingerprint"] = hashlib.sha256(lines.encode()).hexdigest()
    body = struct.pack("<BBHIQ", 1, 0, len(keys[0]) - 1, len(keys), seed)
    body += b"".join(struct.pack("<%dq" % len(key), *key) for key in keys)
    worker.request("POST", "/v1/rows", body, headers)
    answer = worker.getresponse()
    if answer.status != 200:
        raise OSError("%d: %s" % (answer.status, answer.read().decode()))
    version, _, values, n = struct.unpack("<BBHI", read(answer, 8))
    assert (version, n) == (1, len(keys))
    for _ in keys:
        if read(answer, 1) == b"\1":
            raise ValueError(read(answer, *struct.unpack("<H", read(answer, 2))).decode())
        yield [value(answer) for _ in range(values)]


if __name__ == "__main__":
    url, seed, epoch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for row in rows(urllib.parse.urlparse(url).netloc, seed, [(epoch, int(s)) for s in sys.argv[4:]]):
        for layout, x in row:
            print(x.dtype.name, list(x.shape), layout or "-", hashlib.sha256(x.tobytes()).hexdigest())
