package pipeline

import (
	"fmt"
	"math/bits"

	"github.com/planktonml/plankton/internal/entropyindex"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
)

// EntropyIndex configures what decoders keep of JPEG files: half of decoding is reading codes,
// also those of what a crop does not show, and from the second epoch on a decoder leaps over
// them to places that were noted in the first. Samples are the same to the bit. A file that
// has changed is noticed by its length and CRC-32C.
//
// An index is kept of pictures that come straight from the pipeline's first reader, or one
// that follows it; of baseline files without restart intervals that are cropped.
type EntropyIndex struct {
	// Off keeps nothing.
	Off bool

	// Bytes bounds the memory, 2 to 3 KB for a picture of 500×375 pixels. Where that is not
	// enough for all samples, less is kept of each, then nothing of the last to come.
	// Default 64 MiB. Under a MemoryBudget it is set aside from the budget, and its default
	// is a 64th of a budget of at least 256 MiB, rounded down to a power of two, and nothing
	// of a smaller one.
	Bytes int64

	// File names a file in which the index of the first reader's pictures is kept for later
	// runs, and for other processes, which may read and write it at the same time. It is
	// made where it is missing, grows by about 2 % of the data, and takes 16 of Bytes for each
	// sample of the data set, which may be seven eighths of Bytes. More is an error of New,
	// unless the file has records: it is read then, for 8 of Bytes for each sample. A file of
	// other data, or of another kind, is an error of New. One that cannot be written is read
	// all the same, and Pipeline.EntropyIndex says why.
	//
	// Remove the file to be rid of it, and never shorten it while a process uses it.
	File string
}

// defaultIndexBytes is the default of EntropyIndex.Bytes.
const defaultIndexBytes = 64 << 20

func (d *EntropyIndex) validate() error {
	switch {
	case d.Bytes < 0:
		return fmt.Errorf("EntropyIndex.Bytes is %d; it must not be negative, and 0 is the default", d.Bytes)
	case d.Off && (d.Bytes > 0 || d.File != ""):
		return fmt.Errorf("EntropyIndex is Off, but Bytes is %d and File %q; leave them out, or Off", d.Bytes, d.File)
	}
	return nil
}

// indexBytes returns the bound on the memory of the index.
func (o *Options) indexBytes() int64 {
	switch d := &o.EntropyIndex; {
	case d.Off:
		return 0
	case d.Bytes > 0:
		return d.Bytes
	case o.MemoryBudget == 0:
		return defaultIndexBytes
	case o.MemoryBudget < 4*defaultIndexBytes:
		return 0
	default:
		return min(defaultIndexBytes, int64(1)<<(bits.Len64(uint64(o.MemoryBudget/64))-1))
	}
}

// EntropyIndex returns what the decoders of this module keep of the pictures of a value, which
// is known by the index of a sample (datum.Sample.Index); nil where nothing is kept.
func (g *Graph) EntropyIndex(v Value) *entropyindex.Store {
	room := g.opt.indexBytes()
	if g.err != nil || v.g != g || room == 0 && g.opt.EntropyIndex.File == "" {
		return nil
	}
	n := &g.nodes[g.values[v.id].node]
	if n.reader < 0 {
		return nil
	}
	r := g.readers[n.reader]
	if r.Source == nil || r.place > 0 && (r.leader == nil || r.leader.place > 0) {
		return nil
	}
	if g.indexRoom == nil {
		g.indexRoom, g.indexes = entropyindex.NewRoom(room), map[int]*entropyindex.Store{}
	}
	if g.indexes[r.place] == nil {
		g.indexes[r.place] = g.newIndex(r)
	}
	return g.indexes[r.place]
}

// newIndex returns an index of the samples of a reader.
func (g *Graph) newIndex(r *Reader) *entropyindex.Store {
	n := wholeLen(r.Source)
	if r.place > 0 || g.opt.EntropyIndex.File == "" {
		return entropyindex.New(n, g.indexRoom)
	}
	s, err := entropyindex.Open(g.opt.EntropyIndex.File, n, wholeFingerprint(r.Source), g.indexRoom)
	if err != nil {
		g.Fail("options", fmt.Errorf("EntropyIndex.File: %w", err))
		return nil
	}
	return s
}

// wholeFingerprint returns the fingerprint of a data set without its Split.
func wholeFingerprint(src datum.Source) uint64 {
	if p, ok := src.(*splitSource); ok {
		src = p.Source
	}
	return src.Meta().Fingerprint
}

// saveIndexes writes what is new to the file of the index.
func (g *Graph) saveIndexes() {
	for _, s := range g.indexes {
		_ = s.Save() // Stats has the error
	}
}

// EntropyIndex returns what the decoders have kept so far; see Options.EntropyIndex.
func (p *Pipeline) EntropyIndex() (d stats.EntropyIndex) {
	for _, s := range p.indexes {
		st := s.Stats()
		d.Pictures += st.Pictures
		d.Bytes += st.Bytes
		d.FilePictures += st.FilePictures
		d.Lookups += st.Lookups
		d.Hits += st.Hits
		if st.Err != nil {
			d.FileError = st.Err.Error()
		}
	}
	return d
}
