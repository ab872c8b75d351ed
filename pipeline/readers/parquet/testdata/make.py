"""Writes the files of this folder with pyarrow, and what is in them as JSON.

    python3 -m venv v && v/bin/pip install pyarrow && v/bin/python make.py
"""
import json, os, random
import pyarrow as pa, pyarrow.parquet as pq

os.chdir(os.path.dirname(os.path.abspath(__file__)))
random.seed(7)
N = 40
inner = lambda n: [random.randrange(-100, 100) for _ in range(n)]
def columns():
    return {
        "bool": pa.array([i % 3 == 0 for i in range(N)], pa.bool_()),
        "uint8": pa.array([i * 4 for i in range(N)], pa.uint8()),
        "int8": pa.array([i - 30 for i in range(N)], pa.int8()),
        "uint16": pa.array([i * 1000 for i in range(N)], pa.uint16()),
        "int16": pa.array([-i * 500 for i in range(N)], pa.int16()),
        "uint32": pa.array([2**32 - 1 - i for i in range(N)], pa.uint32()),
        "int32": pa.array([i * i * (-1) ** i for i in range(N)], pa.int32()),
        "uint64": pa.array([2**63 + i for i in range(N)], pa.uint64()),
        "int64": pa.array([i * 10**12 for i in range(N)], pa.int64()),
        "float16": pa.array([float(i) / 8 for i in range(N)], pa.float16()),
        "float32": pa.array([i / 4 for i in range(N)], pa.float32()),
        "float64": pa.array([i / 3 for i in range(N)], pa.float64()),
        "text": pa.array(["word %d" % (i % 7) * (i % 5) for i in range(N)], pa.string()),
        "bytes": pa.array([bytes(random.randrange(256) for _ in range(i % 40)) for i in range(N)], pa.binary()),
        "piece": pa.array([bytes([i, 2 * i, 7]) for i in range(N)], pa.binary(3)),
        "holes": pa.array([None if i % 4 == 1 else i for i in range(N)], pa.int32()),
        "texts with holes": pa.array([None if i % 5 == 2 else "x" * i for i in range(N)], pa.string()),
        "list": pa.array([inner(i % 6) for i in range(N)], pa.list_(pa.int32())),
        "bytes list": pa.array([[abs(v) for v in inner(i % 4)] for i in range(N)], pa.list_(pa.uint8())),
        "fixed": pa.array([inner(4) for i in range(N)], pa.list_(pa.int64(), 4)),
        "matrix": pa.array([[inner(i % 3 + 1) for _ in range(i % 4 + 1)] for i in range(N)], pa.list_(pa.list_(pa.float32()))),
        "cube": pa.array([[[[abs(v) for v in inner(2)] for _ in range(3)] for _ in range(i % 3 + 1)] for i in range(N)], pa.list_(pa.list_(pa.list_(pa.uint16())))),
        "struct": pa.array([{"a": i, "b": {"c": i / 2}} for i in range(N)], pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.float32())]))])),
        "objects": pa.array([[{"id": k, "size": k * i} for k in range(i % 3)] for i in range(N)], pa.list_(pa.struct([("id", pa.int32()), ("size", pa.int64())]))),
        "map": pa.array([[(k, k + i) for k in range(i % 3 + 1)] for i in range(N)], pa.map_(pa.int32(), pa.int32())),
    }

cols = columns()
table = pa.table(cols)
plain = {k: [v.as_py() for v in c] for k, c in cols.items()}
for k in ("bytes", "piece"): plain[k] = [list(b) for b in plain[k]]
for k in ("text", "texts with holes"): plain[k] = [None if t is None else list(t.encode()) for t in plain[k]]
plain["struct.a"] = [r["a"] for r in plain["struct"]]
plain["struct.b.c"] = [r["b"]["c"] for r in plain["struct"]]
plain["objects.id"] = [[o["id"] for o in r] for r in plain["objects"]]
plain["objects.size"] = [[o["size"] for o in r] for r in plain["objects"]]
plain["map.key"] = [[k for k, _ in r] for r in plain["map"]]
plain["map.value"] = [[v for _, v in r] for r in plain["map"]]
plain["float16"] = [float(v) for v in plain["float16"]]
for k in ("struct", "objects", "map"): del plain[k]
json.dump(plain, open("rows.json", "w"), separators=(",", ":"))

small = dict(row_group_size=17, data_page_size=64, write_batch_size=4)
for name, options in {
    "plain": dict(use_dictionary=False, compression="none"),
    "dictionary_snappy": dict(use_dictionary=True, compression="snappy"),
    "v2_zstd": dict(use_dictionary=False, compression="zstd", data_page_version="2.0"),
    "v2_dictionary_gzip": dict(use_dictionary=True, compression="gzip", data_page_version="2.0"),
    "index_brotli": dict(use_dictionary=True, compression="brotli", write_page_index=True, write_page_checksum=True),
    "index_lz4": dict(use_dictionary=False, compression="lz4", write_page_index=True, data_page_version="2.0"),
}.items():
    pq.write_table(table, name + ".parquet", **small, **options)
encodings = {"int32": "DELTA_BINARY_PACKED", "int64": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "bytes": "DELTA_LENGTH_BYTE_ARRAY", "float32": "BYTE_STREAM_SPLIT", "float64": "BYTE_STREAM_SPLIT", "bool": "RLE", "holes": "DELTA_BINARY_PACKED"}
pq.write_table(table.select(list(encodings)), "encodings.parquet", use_dictionary=False, column_encoding=encodings, compression="snappy", **small)

hf = json.dumps({"info": {"features": {"picture": {"_type": "Image"}, "kind": {"names": ["cat", "dog"], "_type": "ClassLabel"}, "number": {"dtype": "int64", "_type": "Value"}}}})
pictures = pa.table({
    "picture": pa.array([{"bytes": b"picture %d" % i, "path": "%d.jpg" % i} for i in range(9)], pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
    "kind": pa.array([i % 2 for i in range(9)], pa.int64()),
    "number": pa.array(range(9), pa.int64()),
}).replace_schema_metadata({"huggingface": hf})
pq.write_table(pictures, "huggingface.parquet", row_group_size=4)
odd = pa.table({
    "ragged": pa.array([[[1], [2, 3]], [[1, 2], [3, 4]]], pa.list_(pa.list_(pa.int32()))),
    "empties": pa.array([[], [[], []]], pa.list_(pa.list_(pa.int32()))),
    "half": pa.array([[[1], []], [[2], [3]]], pa.list_(pa.list_(pa.int32()))),
    "null element": pa.array([[1, None], [2]], pa.list_(pa.int32())),
    "null list": pa.array([None, [1]], pa.list_(pa.int32())),
    "texts": pa.array([["a"], ["b"]], pa.list_(pa.string())),
    "decimal": pa.array([1, 2], pa.decimal128(10, 2)),
    "time": pa.array([1, 2], pa.timestamp("us")),
    "label": pa.array(["dog", "cat"]),
})
pq.write_table(odd, "odd.parquet")
