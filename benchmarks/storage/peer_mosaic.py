"""MosaicML Streaming: MDS shards, which it keeps in a folder, shuffled by its default."""

import streaming
from streaming.base.util import clean_stale_shared_memory

import peer


def main():
    o = peer.flags()
    if o.resume:
        clean_stale_shared_memory()  # what the killed process has left
    data = streaming.StreamingDataset(remote="s3://data/mds", local=o.local, shuffle=True, shuffle_seed=1, batch_size=o.batch)
    loader = streaming.StreamingDataLoader(data, batch_size=o.batch, num_workers=o.workers, collate_fn=lambda all: ([s["id"] for s in all], [s["picture"] for s in all]))
    state, _ = peer.load(o)
    if state:
        loader.load_state_dict(state)
    peer.measure(o, loader, loader.state_dict)


if __name__ == "__main__":
    main()
