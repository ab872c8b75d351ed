"""Writes the data sets that are made of a folder of JPEG files; run.py calls it in the environment of the peer that reads the set.

    python sets.py KIND --pictures FOLDER --out DIR

tar, mds, litdata and lance hold the same bytes as the folder, each file so often that an epoch has 2,000 samples or more:
these loaders stop between epochs. large holds photographs of 12 to 50 megapixels, copies 1,000 files or more, which can be
dropped from the page cache; few holds the files in a folder of one class, many so many links to them, classes
as many in 1,000 folders of one class each, with names like those of ImageNet.
"""
import argparse
import io
import os
import random
import shutil
import tarfile

from programs import MANY

LEAST = 2000  # samples of a set of shards
PER_SHARD = 100
LARGE = [(4000, 3000), (3000, 4000), (5472, 3648), (6000, 4000), (8064, 6048), (8192, 6144)]  # 12, 12, 20, 24, 49 and 50 megapixels
LARGE_EACH = 5
ENLARGED = 2  # times that a picture is enlarged before it is a tile of a photograph


def jpegs(folder):
    return sorted(os.path.join(d, f) for d, _, files in os.walk(folder) for f in files if f.lower().endswith((".jpg", ".jpeg")))


def read(file):
    with open(file, "rb") as f:
        return f.read()


def repeated(files):
    files = files * -(-LEAST // len(files))
    random.Random(1).shuffle(files)
    return files


def tar(files, out):
    files = repeated(files)
    for at in range(0, len(files), PER_SHARD):
        with tarfile.open(f"{out}/{at // PER_SHARD:04d}.tar", "w", format=tarfile.USTAR_FORMAT) as to:
            for i, file in enumerate(files[at:at + PER_SHARD], at):
                data = read(file)
                info = tarfile.TarInfo(f"{i:06d}.jpg")
                info.size = len(data)
                to.addfile(info, io.BytesIO(data))


def mds(files, out):
    import streaming

    files = repeated(files)
    size = sum(os.path.getsize(f) for f in files) * PER_SHARD // len(files)
    with streaming.MDSWriter(out=out, columns={"jpg": "bytes"}, size_limit=size) as to:
        for file in files:
            to.write({"jpg": read(file)})


def litdata_sample(file):
    return {"jpg": read(file)}


def litdata(files, out):
    # optimize() deletes folders below the temporary one: all of them are its own.
    for name in ("TMPDIR", "DATA_OPTIMIZER_CACHE_FOLDER", "DATA_OPTIMIZER_DATA_CACHE_FOLDER"):
        os.environ[name] = f"{out}.work/{name.lower()}"
        os.makedirs(os.environ[name], exist_ok=True)
    import litdata

    try:
        litdata.optimize(fn=litdata_sample, inputs=repeated(files), output_dir=out, chunk_size=PER_SHARD, num_workers=1, reorder_files=False)
    finally:
        shutil.rmtree(f"{out}.work", ignore_errors=True)


def lance(files, out):
    import lancedb
    import pyarrow as pa

    files = repeated(files)
    lancedb.connect(out).create_table("pictures", pa.table({"jpg": pa.array([read(f) for f in files], pa.large_binary())}))


def large(files, out):
    """Photographs that are tiled with enlarged pictures, quality 90, 4:2:0."""
    from PIL import Image

    rnd = random.Random(1)
    for k, (width, height) in enumerate(LARGE * LARGE_EACH):
        photo = Image.new("RGB", (width, height))
        y = 0
        while y < height:
            x = lowest = 0
            while x < width:
                with Image.open(rnd.choice(files)) as picture:
                    tile = picture.convert("RGB").resize((ENLARGED * picture.width, ENLARGED * picture.height), Image.Resampling.BICUBIC)
                photo.paste(tile, (x, y))
                x += tile.width
                lowest = min(lowest or tile.height, tile.height)
            y += lowest
        photo.save(f"{out}/{k:02d}-{width}x{height}.jpg", quality=90)


def copies(files, out):
    for i, file in enumerate(files * -(-1000 // len(files))):
        shutil.copyfile(file, f"{out}/{i:04d}.jpg")


def links(files, names):
    """Names for the files in turn, each of which is copied once and then linked."""
    made = []
    for name in names:
        if len(made) < len(files):
            shutil.copyfile(files[len(made)], name)
        else:
            os.link(made[len(made) % len(files)], name)
        made.append(name)


def few(files, out, n=None):
    """One folder, as of one class."""
    os.mkdir(f"{out}/all")
    links(files, [f"{out}/all/{i:07d}.jpg" for i in range(n or len(files))])


def many(files, out):
    few(files, out, MANY)


def classes(files, out):
    folders = [f"n{1440764 + 8191 * c:08d}" for c in range(1000)]
    for folder in folders:
        os.mkdir(f"{out}/{folder}")
    links(files, [f"{out}/{folder}/{folder}_{i * 7919 % 30011}.JPEG" for folder in folders for i in range(MANY // 1000)])


def main():
    kinds = {f.__name__: f for f in (tar, mds, litdata, lance, large, copies, few, many, classes)}
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("kind", choices=kinds)
    p.add_argument("--pictures", required=True, help="folder of JPEG files")
    p.add_argument("--out", required=True, help="folder for the set")
    a = p.parse_args()
    new = a.out + ".new"  # renamed when it is whole
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    kinds[a.kind](jpegs(a.pictures), new)
    os.rename(new, a.out)


if __name__ == "__main__":
    main()
