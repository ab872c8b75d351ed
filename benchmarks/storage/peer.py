"""What the programs of the peers share: flags, the file of ids, states and figures."""

import argparse
import itertools
import json
import os
import pickle
import time
import urllib.request


def flags():
    f = argparse.ArgumentParser()
    f.add_argument("--ids", required=True, help="file for the ids of every batch")
    f.add_argument("--state", required=True, help="file for the state")
    f.add_argument("--resume", action="store_true", help="go on from the state")
    f.add_argument("--every", type=int, default=10, help="batches between two states")
    f.add_argument("--batch", type=int, default=64)
    f.add_argument("--workers", type=int, default=2)
    f.add_argument("--local", required=True, help="folder for what the library keeps")
    f.add_argument("--shards", type=int, required=True)
    f.add_argument("--counts", help="address that tells what has been asked of the server")
    return f.parse_args()


def load(o):
    """Returns the state of --resume and how many batches it is behind."""
    if not o.resume:
        return None, 0
    with open(o.state, "rb") as f:
        state = pickle.load(f)
    with open(o.state + ".batches") as f:
        return state, int(f.read())


def save(o, state, batches):
    for name, data in ((o.state, pickle.dumps(state)), (o.state + ".batches", str(batches).encode())):
        with open(name + ".new", "wb") as f:
            f.write(data)
        os.replace(name + ".new", name)


def measure(o, loader, state=lambda: None, skip=0):
    """Goes through an epoch. A batch is a list of ids and a list of bytes."""
    first = last = None
    samples = size = n = 0
    with open(o.ids, "a") as out:
        for ids, pictures in itertools.islice(loader, skip, None):
            last = time.time()
            first = first or last
            samples += len(ids)
            size += sum(len(p) for p in pictures)
            out.write(" ".join(str(int(i)) for i in ids) + "\n")
            out.flush()
            n += 1
            if n % o.every == 0 and not o.resume:
                save(o, state(), n)
    asked = json.load(urllib.request.urlopen(o.counts + "?reset=1")) if o.counts else None
    print(json.dumps({"samples": samples, "first": first, "last": last, "sample_bytes": size, "counts": asked}))


def pack(samples):
    """Makes a batch of pairs."""
    return [s[0] for s in samples], [s[1] for s in samples]
