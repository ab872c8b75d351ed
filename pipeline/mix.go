package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// Mix says how a reader draws from several sources; see Graph.Mix.
type Mix struct {
	// Weights are the proportions of the sources, such as 3 and 1, one for each, and one for
	// each mix within. They are those of shard.Shares.
	Weights []int64
	// Stages are later weights, such as those from an epoch on. Places in epochs are those
	// of the outermost mix.
	Stages []shard.Stage
	// Draws is the number of samples of an epoch, over all ranks; default as many as
	// the sources have. Only for the outermost mix.
	Draws int64
}

// Mix makes one reader of several: define calls Read, or functions of package
// readers, once for each source. All of them return the values of the mix, so their
// outputs must be of the same types and shapes, and their classes the same.
//
// Draws follow a fixed schedule: of the first k, over all epochs, each source has
// given its share to within less than one. A source goes through epochs of its own,
// in its order or, with Shuffle, in an order of its own, and the draws of an epoch
// go on where those of the last one ended: small sources may come several times in
// one, large ones in parts. Every sample comes once in each epoch of its source.
// Operators draw other random numbers for a sample whenever it comes again.
//
// Batch.IDs counts through the sources, one after the other, and Reader.Locate finds the
// source; datum.Sample.Index counts through the sources without their Splits; datum.Sample.Epoch is
// the source's. O is for the mix; a source has a Name and a Split of its own and no other
// option. StickToShard is not possible, nor is Split for the mix as a whole.
//
// A mix within the function is an entry of the mix, with one of its Weights: it shares what
// it draws among its own sources, or its mixes. It has Weights and Stages alone.
//
// With O.Follow the mix draws what the reader of that name does: M is empty, and if that
// one is a mix, each source has as many samples as its counterpart without its Split.
func (g *Graph) Mix(o ReaderOptions, m Mix, define func()) {
	if g.mixing != nil {
		g.addMix(o, m, define)
		return
	}
	o.setDefaults(len(g.readers))
	switch {
	case o.Split != Split{}:
		g.Fail(o.Name, errors.New("a mix cannot be split; split its sources"))
	case m.Draws < 0 || m.Draws > shard.MaxSamples:
		g.Fail(o.Name, fmt.Errorf("Draws is %d; it must be 1 to %d, or 0 for as many as the sources have", m.Draws, int64(shard.MaxSamples)))
	}
	if g.err != nil {
		return
	}
	m.Weights = slices.Clone(m.Weights)
	if o.Follow != "" && (m.Weights != nil || m.Stages != nil || m.Draws != 0) {
		g.Fail(o.Name, fmt.Errorf("it follows reader %q and draws what that draws; leave Weights, Stages and Draws out", o.Follow))
		return
	}
	r := &Reader{ReaderOptions: o, Source: &mixSource{}, Mix: m}
	g.mixing = &mixing{Reader: r, level: &shard.Shares{Weights: m.Weights, Stages: m.Stages}}
	shares := g.mixing.level
	define()
	g.mixing = nil
	switch {
	case g.err != nil:
		return
	case len(r.Sources) == 0:
		g.Fail(o.Name, errors.New("the mix has no sources; read them in the function that is given to Mix"))
		return
	case r.leader != nil:
		g.Fail(o.Name, r.pairs())
		return
	case m.Draws == 0:
		r.Mix.Draws = r.Len()
	}
	if shares.Stages != nil || len(shares.Mixes) != len(r.Sources) {
		if err := wantWeights(shares); err != nil {
			g.Fail(o.Name, err)
			return
		}
		r.shares = shares
	}
	_, err := shard.New(r.PlanConfig(g.opt.BatchSize, g.opt.Seed))
	g.Fail(o.Name, err)
}

// mixing is a reader while its sources are being defined.
type mixing struct {
	*Reader
	values []Value       // nil before the first source
	level  *shard.Shares // of the mix whose entries are being defined
}

// addMix adds a mix to the one that is being defined.
func (g *Graph) addMix(o ReaderOptions, m Mix, define func()) {
	in := g.mixing
	entry := fmt.Sprintf("entry %d", len(in.level.Mixes))
	switch {
	case g.err != nil:
		return
	case o != ReaderOptions{Name: o.Name}:
		g.Fail(in.Name, fmt.Errorf("%s is a mix with options of a reader; they belong to the outermost mix, and Splits to its sources", entry))
	case m.Draws != 0:
		g.Fail(in.Name, fmt.Errorf("%s is a mix with Draws; they belong to the outermost mix", entry))
	case in.Follow != "":
		g.Fail(in.Name, fmt.Errorf("%s is a mix, but a mix that follows a reader draws what that draws; give it all sources one after the other", entry))
	}
	if g.err != nil {
		return
	}
	outer := in.level
	in.level = &shard.Shares{Weights: slices.Clone(m.Weights), Stages: m.Stages}
	define()
	if err := wantWeights(in.level); err != nil {
		g.Fail(in.Name, fmt.Errorf("%s: %w", entry, err))
	}
	outer.Mixes = append(outer.Mixes, in.level)
	in.level = outer
}

// wantWeights reports a mix that has not one weight for each entry.
func wantWeights(s *shard.Shares) error {
	switch {
	case len(s.Mixes) == 0:
		return errors.New("the mix has no sources; read them in the function that is given to Mix")
	case len(s.Mixes) != len(s.Weights):
		return fmt.Errorf("Weights has %d, but the mix has %d entries; give one for each source and for each mix within", len(s.Weights), len(s.Mixes))
	}
	return nil
}

// addSource adds a source to the mix that is being defined.
func (g *Graph) addSource(o ReaderOptions, src datum.Source) []Value {
	m := g.mixing
	outputs := src.Outputs()
	all := m.Source.(*mixSource)
	plain := ReaderOptions{Name: o.Name, Split: o.Split, Follow: o.Follow}
	err := all.agree(src)
	switch {
	case o != plain:
		err = errors.New("shards, padding and shuffling are options of the mix; leave them out of its sources")
	case o.Follow != "":
		err = errors.New("a source cannot follow a reader; let the mix follow it")
	case m.Follow != "" && o.Split != Split{}:
		err = fmt.Errorf("the mix follows reader %q, whose Splits it has; leave Split out", m.Follow)
	}
	if err != nil {
		g.Fail(m.Name, fmt.Errorf("source %d: %w", len(m.Sources), err))
		return make([]Value, len(outputs))
	}
	all.add(src)
	m.level.Mixes = append(m.level.Mixes, nil)
	m.Sources = append(m.Sources, &Reader{ReaderOptions: o, Source: src})
	if m.values == nil {
		m.values = g.addReader(m.Reader, outputs)
	}
	return slices.Clone(m.values)
}

// Locate returns where a sample of the reader comes from: the source of a mix, as in
// Reader.Sources, and its index there. Without a mix that is source 0.
func (r *Reader) Locate(index int64) (source int, sample int64) {
	if m, ok := r.Source.(*mixSource); ok {
		return m.at(index)
	}
	return 0, index
}

// PlanConfig returns what the reader of a source decides of the plan of its epochs,
// in a pipeline with a batch size and a seed. Readers of one pipeline shuffle by seeds of
// their own, whichever of them drives an iterator: the seed plus the reader's position.
func (r *Reader) PlanConfig(batch int, seed uint64) shard.Config {
	c := shard.Config{
		Samples: r.Len(), Batch: batch, Shards: r.NumShards,
		PadLastBatch: r.PadLastBatch, StickToShard: r.StickToShard, Shuffle: r.Shuffle, Seed: seed + uint64(r.place),
	}
	if r.Sources == nil {
		return c
	}
	c.Samples, c.Weights = r.Mix.Draws, r.Mix.Weights
	if r.shares != nil {
		c.Weights, c.Shares = nil, r.shares
	}
	for _, s := range r.Sources {
		c.Sources = append(c.Sources, s.Len())
	}
	return c
}

// mixSource is the data set of a mix: its sources, one after the other.
type mixSource struct {
	sources     []datum.Source
	prefetchers []datum.Prefetcher // of the sources, nil where one is none
	touchers    []datum.Toucher    // likewise
	gatherers   []datum.Gatherer   // likewise, also where one gathers nothing
	starts      []int64            // where the sources begin
	n           int64
	scratch     sync.Pool // of Rows for a source, *[]datum.Rows

	wholes []int64 // where they begin without their Splits
	wholeN int64
}

// agree reports in what a further source differs from the first one.
func (m *mixSource) agree(src datum.Source) error {
	if m.n == 0 {
		return nil
	}
	first, own := m.Outputs(), src.Outputs()
	if len(first) != len(own) {
		return fmt.Errorf("it has %d outputs, source 0 has %d", len(own), len(first))
	}
	for i, a := range first {
		if b := own[i]; a.String() != b.String() || a.Classes != b.Classes {
			return fmt.Errorf("output %d is %s (%d classes), that of source 0 is %s (%d classes); all sources must have the same", i, b, b.Classes, a, a.Classes)
		}
	}
	if a, b := m.Meta().Classes, src.Meta().Classes; !slices.Equal(a, b) {
		return fmt.Errorf("its classes are %q, those of source 0 are %q; labels must mean the same in all sources, so give all the same class names", b, a)
	}
	return nil
}

func (m *mixSource) add(src datum.Source) {
	prefetcher, _ := src.(datum.Prefetcher)
	toucher, _ := src.(datum.Toucher)
	gatherer, ok := src.(datum.Gatherer)
	if ok && !gatherer.Gathers() {
		gatherer = nil
	}
	m.gatherers = append(m.gatherers, gatherer)
	m.sources, m.starts = append(m.sources, src), append(m.starts, m.n)
	m.prefetchers, m.touchers = append(m.prefetchers, prefetcher), append(m.touchers, toucher)
	m.n += src.Len()
	m.wholes = append(m.wholes, m.wholeN)
	m.wholeN += wholeLen(src)
}

func (m *mixSource) whole(index int64) int64 {
	i, index := m.at(index)
	return m.wholes[i] + wholeIndex(m.sources[i], index)
}

func (m *mixSource) wholeLen() int64 { return m.wholeN }

// at returns the source of a sample and its index there.
func (m *mixSource) at(index int64) (source int, sample int64) {
	i, first := slices.BinarySearch(m.starts, index)
	if !first {
		i--
	}
	return i, index - m.starts[i]
}

func (m *mixSource) Len() int64            { return m.n }
func (m *mixSource) Outputs() []datum.Spec { return m.sources[0].Outputs() }

func (m *mixSource) Meta() datum.Meta {
	all := datum.Meta{Classes: m.sources[0].Meta().Classes}
	for _, s := range m.sources {
		for _, x := range [...]uint64{uint64(s.Len()), s.Meta().Fingerprint} {
			all.Fingerprint = fold(all.Fingerprint, x)
		}
	}
	return all
}

func (m *mixSource) Read(ctx context.Context, index int64, out []*datum.Tensor) error {
	i, index := m.at(index)
	return m.sources[i].Read(ctx, index, out)
}

func (m *mixSource) Describe(index int64) string {
	i, index := m.at(index)
	return m.sources[i].Describe(index)
}

// EntryName implements datum.Listed.
func (m *mixSource) EntryName(index int64) string {
	i, index := m.at(index)
	return datum.EntryOf(m.sources[i], index).Name
}

// Label implements datum.Labelled.
func (m *mixSource) Label(index int64) (int32, bool) {
	i, index := m.at(index)
	label := datum.EntryOf(m.sources[i], index).Label
	return int32(label), label != datum.NoLabel
}

// Prefetch implements datum.Prefetcher.
func (m *mixSource) Prefetch(ctx context.Context, index int64) bool {
	i, index := m.at(index)
	return m.prefetchers[i] != nil && m.prefetchers[i].Prefetch(ctx, index)
}

// ReadAhead implements datum.Prefetcher.
func (m *mixSource) ReadAhead() int {
	ahead := 0
	for _, p := range m.prefetchers {
		if p != nil {
			ahead = max(ahead, p.ReadAhead())
		}
	}
	return ahead
}

// Storage implements datum.Stored.
func (m *mixSource) Storage() (all []datum.Storage) {
	for _, s := range m.sources {
		all = append(all, datum.StorageOf(s)...)
	}
	return all
}

// Touch implements datum.Toucher.
func (m *mixSource) Touch(index int64) {
	if i, index := m.at(index); m.touchers[i] != nil {
		m.touchers[i].Touch(index)
	}
}

// Gathers implements datum.Gatherer: all sources must gather.
func (m *mixSource) Gathers() bool {
	return !slices.ContainsFunc(m.gatherers, func(g datum.Gatherer) bool { return g == nil })
}

// mixTouched is how many samples ahead Gather touches: those of a source that come one after the
// other may be too few for the source to look ahead.
const mixTouched = 8

// Gather implements datum.Gatherer: a source copies those of its samples that come one after
// the other by one call.
func (m *mixSource) Gather(index []int64, out []datum.Rows) bool {
	scratch, _ := m.scratch.Get().(*[]datum.Rows)
	if scratch == nil {
		scratch = new([]datum.Rows)
	}
	*scratch = append((*scratch)[:0], out...)
	parts := *scratch
	touched := 0
	next, sample := m.at(index[0])
	for first := 0; first < len(index); {
		source, end := next, first
		for next == source {
			index[end] = sample
			if end++; end == len(index) {
				break
			}
			next, sample = m.at(index[end])
		}
		for touched = max(touched, end); touched < min(end+mixTouched, len(index)); touched++ {
			m.Touch(index[touched])
		}
		for k, rows := range out {
			if n := len(rows.Data) / len(index); n > 0 {
				parts[k].Data = rows.Data[first*n : end*n : end*n]
			}
		}
		if !m.gatherers[source].Gather(index[first:end:end], parts) {
			return false
		}
		first = end
	}
	clear(parts) // the batch's memory
	m.scratch.Put(scratch)
	return true
}
