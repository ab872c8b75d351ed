package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/planktonml/plankton/internal/atomicfile"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline/datum"
)

// naming gives the samples of a data set the names that they have in shards.
type naming struct {
	source   datum.Source
	named    datum.Named    // nil where samples have no names
	labelled datum.Labelled // nil where they have no labels
	members  *members
}

// newNaming sees that no two samples get one name.
func newNaming(source datum.Source, number bool) (*naming, error) {
	n := &naming{source: source}
	n.labelled, _ = source.(datum.Labelled)
	if named, ok := source.(datum.Named); ok && !number {
		n.named = named
		seen := make(map[string]int64, source.Len())
		for i := range source.Len() {
			name, err := n.of(i)
			if err != nil {
				return nil, err
			}
			if other, twice := seen[name]; twice {
				return nil, fmt.Errorf("%s and %s would both have the name %s; --number names samples by their numbers", printable.Name(source.Describe(other)), printable.Name(source.Describe(i)), printable.Name(name))
			}
			seen[name] = i
		}
	}
	return n, nil
}

// of returns the name of a sample: what is in front of the first dot of a file's name in
// an archive, so dots become lines.
func (n *naming) of(sample int64) (string, error) {
	name := ""
	if n.named != nil {
		name = n.named.SampleName(sample)
	}
	if name == "" {
		return fmt.Sprintf("%09d", sample), nil
	}
	dir, base := path.Split(name)
	base = strings.ReplaceAll(base, ".", "_")
	if strings.ContainsAny(name, "\x00\n") || strings.HasPrefix(base, "__") && strings.HasSuffix(base, "__") {
		return "", fmt.Errorf("%s has a name that archives cannot have; rename it, or give --number", printable.Name(n.source.Describe(sample)))
	}
	return dir + base, nil
}

// label returns the label of a sample.
func (n *naming) label(sample int64) (int32, bool) {
	if n.labelled == nil {
		return 0, false
	}
	return n.labelled.Label(sample)
}

// conversion is what the shards of a folder were made of: it is in a file beside them.
type conversion struct {
	Format      string   `json:"format"`
	PerShard    int      `json:"per_shard"`
	Samples     int64    `json:"samples"`
	Fingerprint string   `json:"fingerprint"` // of the data set
	Shuffle     bool     `json:"shuffle"`
	Seed        uint64   `json:"seed"`
	Number      bool     `json:"number"`
	OnError     string   `json:"on_error"`
	Classes     []string `json:"classes,omitempty"`
}

const conversionFile = "conversion.json"

// claim makes the folder the place of this conversion, and refuses one that has shards of
// another.
func (c *convertCmd) claim(source datum.Source) error {
	if err := os.MkdirAll(c.To, 0o777); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	meta := source.Meta()
	want, err := json.MarshalIndent(conversion{
		Format: c.Format, PerShard: c.PerShard, Samples: source.Len(), Fingerprint: fmt.Sprintf("%016x", meta.Fingerprint),
		Shuffle: c.Shuffle, Seed: c.Seed, Number: c.Number, OnError: c.OnError.String(), Classes: meta.Classes,
	}, "", "\t")
	if err != nil {
		return err
	}
	want = append(want, '\n')
	name := filepath.Join(c.To, conversionFile)
	switch got, err := os.ReadFile(name); {
	case err == nil && bytes.Equal(got, want):
		return nil
	case err == nil:
		return fmt.Errorf("--to %s holds the shards of another conversion, of other data or with other options (%s says which); give an empty folder", printable.Name(c.To), conversionFile)
	}
	entries, err := os.ReadDir(c.To)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("--to %s is not empty: it holds %s; give an empty folder", printable.Name(c.To), printable.Name(entries[0].Name()))
	}
	return atomicfile.Write(name, func(w io.Writer) error {
		_, err := w.Write(want)
		return err
	})
}
