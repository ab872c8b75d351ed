package dali

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
)

// ReaderMeta is what NVIDIA DALI calls a reader's metadata.
type ReaderMeta struct {
	EpochSize       int64 // samples of the data set, draws of a mix; -1 for a sequence
	EpochSizePadded int64 // with padding, so that all shards have the same size
	NumShards       int
	ShardID         int // the shard that the reader begins with
	PadLastBatch    bool
	StickToShard    bool
}

// ReaderMeta returns the metadata of a reader. The name may be left empty where
// there is one reader. That of a reader which follows another is the other's. It panics if
// there is no reader of that name in pipeline.Pipeline.Readers.
func (d *Pipeline) ReaderMeta(name string) ReaderMeta {
	r, err := d.reader(name)
	if err != nil {
		panic(err.Error())
	}
	if leader := r.Leader(); leader != nil {
		r = leader
	}
	m := ReaderMeta{
		EpochSize: r.Len(), NumShards: r.NumShards, ShardID: r.ShardID,
		PadLastBatch: r.PadLastBatch, StickToShard: r.StickToShard,
	}
	if r.Sources != nil {
		m.EpochSize = r.Mix.Draws
	}
	m.EpochSizePadded = m.EpochSize
	if s := int64(r.NumShards); r.PadLastBatch && m.EpochSize > 0 {
		m.EpochSizePadded = (m.EpochSize + s - 1) / s * s
	}
	return m
}

// EpochSize returns ReaderMeta.EpochSizePadded of a reader; it panics as ReaderMeta does.
func (d *Pipeline) EpochSize(name string) int64 { return d.ReaderMeta(name).EpochSizePadded }

// reader returns the reader of a name, or the only one.
func (d *Pipeline) reader(name string) (*pipeline.Reader, error) {
	readers := d.p.Readers()
	if name == "" && len(readers) == 1 {
		return readers[0], nil
	}
	var names []string
	for _, r := range readers {
		if r.Name == name {
			return r, nil
		}
		names = append(names, r.Name)
	}
	return nil, fmt.Errorf("dali: there is no reader %q; the pipeline has %q", name, names)
}
