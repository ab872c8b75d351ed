"""LitData: chunks of its own format, which it keeps in a folder, shuffled."""

import os

import litdata
from litdata.streaming import downloader

import peer


def main():
    o = peer.flags()
    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True  # the server of the comparison has no TLS
    keys = {
        "endpoint_url": os.environ["AWS_ENDPOINT_URL"], "region_name": os.environ["AWS_REGION"],
        "aws_access_key_id": os.environ["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"],
    }
    data = litdata.StreamingDataset("s3://data/litdata", cache_dir=o.local, shuffle=True, seed=1, drop_last=False, storage_options=keys)
    loader = litdata.StreamingDataLoader(data, batch_size=o.batch, num_workers=o.workers, shuffle=True, drop_last=False, collate_fn=lambda all: ([s["id"] for s in all], [bytes(s["picture"]) for s in all]))
    state, _ = peer.load(o)
    if state:
        loader.load_state_dict(state)
    peer.measure(o, loader, loader.state_dict)


if __name__ == "__main__":
    main()
