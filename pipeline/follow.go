package pipeline

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/pipeline/datum"
)

// follow makes r a follower of the reader that its options name: row for row it reads
// the sample of its own data set that has the index of the other's (Sample.Index).
func (g *Graph) follow(r *Reader) error {
	var leader *Reader
	var names []string
	for _, other := range g.readers {
		if other.Name == r.Follow {
			leader = other
		}
		names = append(names, other.Name)
	}
	own := r.ReaderOptions
	own.Name, own.Follow, own.NumShards = "", "", 0
	switch {
	case leader == nil:
		return fmt.Errorf("Follow names %q, but the readers before it are %q; read what it follows first, under that name", r.Follow, names)
	case leader.Source == nil || r.Source == nil:
		return errors.New("a sequence can neither follow a reader nor be followed; use a Source with random access")
	case own != ReaderOptions{} || r.NumShards > 1:
		return fmt.Errorf("it follows reader %q, whose shards, padding, order and Split it has; leave those options out", leader.Name)
	}
	if leader.leader != nil {
		leader = leader.leader
	}
	r.leader = leader
	if g.mixing != nil {
		return nil // Mix looks at the sources when it has them all
	}
	return r.pairs()
}

// pairs checks that there is a sample of r for every one of the reader it follows.
func (r *Reader) pairs() error {
	leader := r.leader
	if have, want := wholeLen(r.Source), wholeLen(leader.Source); have != want {
		return fmt.Errorf("it has %d samples, but reader %q, which it follows, has %d%s; both must have the same, in the same order",
			have, leader.Name, want, leader.without())
	}
	own, ok := r.Source.(*mixSource)
	if !ok {
		return sameNames(r.Source, leader.Source, leader.Name)
	}
	other, ok := leader.Source.(*mixSource)
	if !ok || len(other.sources) != len(own.sources) {
		return fmt.Errorf("it mixes %d sources, but reader %q, which it follows, does not; give it one source, or as many", len(own.sources), leader.Name)
	}
	for i, src := range own.sources {
		if have, want := src.Len(), wholeLen(other.sources[i]); have != want {
			return fmt.Errorf("its source %d has %d samples, but that of reader %q, which it follows, has %d; both must have the same, in the same order",
				i, have, leader.Name, want)
		}
		if err := sameNames(src, other.sources[i], leader.Name); err != nil {
			return fmt.Errorf("source %d: %w", i, err)
		}
	}
	return nil
}

// sameNames reports a sample whose name has another place in the data set that is
// followed.
func sameNames(src, other datum.Source, leader string) error {
	if part, ok := other.(*splitSource); ok {
		other = part.Source
	}
	own, ok := src.(datum.Named)
	theirs, both := other.(datum.Named)
	if !ok || !both {
		return nil
	}
	var places map[string]int64 // made for the first name that differs
	for i := range own.Len() {
		name := own.SampleName(i)
		if name == "" || name == theirs.SampleName(i) {
			continue
		}
		if places == nil {
			places = make(map[string]int64, theirs.Len())
			for k := range theirs.Len() {
				places[theirs.SampleName(k)] = k
			}
		}
		if k, ok := places[name]; ok {
			return fmt.Errorf("its sample %d is %q, which is sample %d of reader %q, which it follows: the names of the two sort differently; give the files of both one by one, in the same order", i, name, k, leader)
		}
	}
	return nil
}

// without says what the samples of a whole data set are counted without.
func (r *Reader) without() string {
	if wholeLen(r.Source) == r.Len() {
		return ""
	}
	return " without its Split"
}
