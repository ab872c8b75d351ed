package main

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/storage/index"
)

// shardCount is what is known of shards without reading their samples.
type shardCount struct {
	Count int   `json:"count"`
	Min   int64 `json:"min_samples,omitempty"` // in a shard
	Max   int64 `json:"max_samples,omitempty"`

	Members    map[string]int64 `json:"members,omitempty"` // samples that have a member of the name
	IndexBytes int64            `json:"index_bytes,omitempty"`
}

// countShards looks at the shards and their index.
func (f *inspection) countShards(data *dataset.Data) error {
	place := data.Place
	if place == nil {
		place = os.DirFS(data.Root)
	}
	f.Bytes = 0
	for _, name := range data.Shards {
		info, err := fs.Stat(place, name)
		if err != nil {
			return err
		}
		f.Bytes += info.Size()
	}
	f.Shards = &shardCount{Count: len(data.Shards)}
	if data.Index != nil {
		f.Shards.ofIndex(data.Index)
	}
	return nil
}

func (s *shardCount) ofIndex(x *index.Index) {
	s.Members, s.IndexBytes = map[string]int64{}, x.Bytes()
	for o := range x.Objects() {
		from, to := x.Samples(o)
		if n := to - from; o == 0 {
			s.Min, s.Max = n, n
		} else {
			s.Min, s.Max = min(s.Min, n), max(s.Max, n)
		}
	}
	for i := range x.Len() {
		for field, of := range x.Fields() {
			if x.Part(i, field).Length != index.Absent {
				s.Members[of.Name]++
			}
		}
	}
}

// print writes the count for a person; nothing where there are no shards.
func (s *shardCount) print(std *stdio, format string) {
	if s == nil {
		return
	}
	fmt.Fprintf(std.out, "%s: %s", format, plural(int64(s.Count), "shard"))
	if s.Members != nil {
		fmt.Fprintf(std.out, " of %d … %d samples, index of %.1f MB", s.Min, s.Max, float64(s.IndexBytes)/1e6)
	}
	fmt.Fprintln(std.out)
	shown := map[string]int64{}
	for name, n := range s.Members {
		shown[printable.Name(name)] = n
	}
	printCounts(std, "members", shown)
}
