// Command loader reads encoded pictures from tar shards in a bucket with plankton, as the
// programs of peers beside it do: it writes the ids of every batch to a file, its state every few
// batches, and figures at the end.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/planktonml/plankton/internal/atomicfile"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/storage/index"
	"github.com/planktonml/plankton/storage/s3"

	"io"
	"net/http"
)

var (
	bucketName = flag.String("bucket", "data", "bucket, of the server that the environment names")
	ids        = flag.String("ids", "", "file for the ids of every batch")
	stateFile  = flag.String("state", "", "file for the state")
	resume     = flag.Bool("resume", false, "go on from the state")
	every      = flag.Int("every", 10, "batches between two states")
	batch      = flag.Int("batch", 64, "samples of a batch")
	group      = flag.Int64("group", 10, "shards that are shuffled as one")
	workers    = flag.Int("workers", 2, "")
	epochs     = flag.Int("epochs", 1, "")
	counts     = flag.String("counts", "", "address that tells what has been asked of the server")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	bucket, err := s3.Open(ctx, s3.Options{Bucket: *bucketName, Prefix: "tar"})
	if err != nil {
		return err
	}
	defer bucket.Close()
	p, err := pipeline.New(pipeline.Options{BatchSize: *batch, Workers: *workers, Seed: 1}, func(g *pipeline.Graph) {
		members, _ := readers.Shards(g, readers.ShardsOptions{FS: bucket, Shuffle: true, IndexOptions: index.Options{}})
		g.Output("picture", members[0])
	})
	if err != nil {
		return err
	}
	loader, err := iterator.New(iterator.Options{ShuffleGroup: *group}, p)
	if err != nil {
		return err
	}
	defer loader.Close()
	if *resume {
		text, err := os.ReadFile(*stateFile)
		if err != nil {
			return err
		}
		var state iterator.State
		if err := json.Unmarshal(text, &state); err != nil {
			return err
		}
		if err := loader.SeekState(state); err != nil {
			return err
		}
	}
	return measure(ctx, loader, p.Readers()[0].Source)
}

// figures are printed, as those of the peers.
type figures struct {
	Samples int64           `json:"samples"`
	First   float64         `json:"first"` // when the first batch was there, in seconds since 1970
	Last    float64         `json:"last"`  // when the last one of the first epoch was
	Bytes   int64           `json:"sample_bytes"`
	Counts  json.RawMessage `json:"counts,omitempty"` // at the end of the first epoch
	Steady  json.RawMessage `json:"steady,omitempty"` // at the end of the second, if there is one
}

func measure(ctx context.Context, loader *iterator.Loader, source datum.Source) error {
	out, err := os.OpenFile(*ids, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	var f figures
	n := 0
	for epoch := range *epochs {
		for b, err := range loader.Epoch(ctx) {
			if err != nil {
				return err
			}
			now := float64(time.Now().UnixMicro()) / 1e6
			if f.First == 0 {
				f.First = now
			}
			if epoch > 0 {
				continue
			}
			f.Last = now
			f.Samples += int64(b.NumValid())
			var line strings.Builder
			for row, ok := range b.Mask() {
				if ok {
					f.Bytes += int64(len(b.Sample("picture", row).Bytes()))
					name := datum.EntryOf(source, b.IDs()[row]).Name
					number, err := strconv.Atoi(name)
					if err != nil {
						return err
					}
					fmt.Fprintf(&line, "%d ", number)
				}
			}
			if _, err := fmt.Fprintln(out, line.String()); err != nil {
				return err
			}
			if n++; n%*every == 0 && !*resume {
				if err := save(loader, n); err != nil {
					return err
				}
			}
		}
		asked, err := settled()
		if err != nil {
			return err
		}
		if epoch == 0 {
			f.Counts = asked
		} else {
			f.Steady = asked
		}
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// save writes the state, and how many batches it is behind.
func save(loader *iterator.Loader, batches int) error {
	state, err := loader.State()
	if err != nil {
		return err
	}
	text, err := state.MarshalJSON()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(*stateFile, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	return atomicfile.Write(*stateFile+".batches", func(w io.Writer) error { _, err := fmt.Fprint(w, batches); return err })
}

// settled waits until nothing more is fetched ahead, and returns what the server was asked for
// since the last time.
func settled() (json.RawMessage, error) {
	if *counts == "" {
		return nil, nil
	}
	for last := ""; ; time.Sleep(500 * time.Millisecond) {
		now, err := ask("")
		switch {
		case err != nil:
			return nil, err
		case string(now) == last:
			return ask("?reset=1")
		}
		last = string(now)
	}
}

func ask(query string) (json.RawMessage, error) {
	answer, err := http.Get(*counts + query)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}
