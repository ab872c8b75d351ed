"""WebDataset: tar shards as streams, a shuffle of shards and a buffer of samples. It has no
states, so it resumes by reading again what has been read, in an order that a seed gives."""

import os

import boto3
import webdataset as wds

import peer

client = None


def s3(url, mode="rb", bufsize=8192):
    """Opens an object as a stream. The library's own way is a pipe from Amazon's command line
    tool, which takes a second of a processor for each shard."""
    global client
    if client is None:
        client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    bucket, key = url.removeprefix("s3://").split("/", 1)
    return client.get_object(Bucket=bucket, Key=key)["Body"]


def main():
    o = peer.flags()
    wds.gopen_schemes["s3"] = s3
    urls = [f"s3://data/tar/{i:04d}.tar" for i in range(o.shards)]
    data = (
        wds.WebDataset(urls, shardshuffle=o.shards, detshuffle=True, seed=1)
        .compose(wds.detshuffle(1000, seed=1))
        .to_tuple("__key__", "jpg")
        .batched(o.batch, collation_fn=peer.pack)
    )
    loader = wds.WebLoader(data, batch_size=None, num_workers=o.workers)
    _, done = peer.load(o)
    peer.measure(o, loader, skip=done)


if __name__ == "__main__":
    main()
