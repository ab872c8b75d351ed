package readers

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// IDXOptions configures [IDX]. Images must be given.
type IDXOptions struct {
	Name string // of the reader; default "reader", "reader2", …

	Images string // file of the samples, plain or compressed with gzip
	// Labels is the file of the labels: one dimension of whole numbers, as many
	// as there are samples. Without it there is no label.
	Labels string

	// FS is the place of the files, such as an [os.Root], an embed.FS, a zip archive or a
	// bucket; default the file system of the machine. Images and Labels are names in FS.
	FS fs.FS

	// Layout names the dimensions of samples that have three; by default they
	// have no names.
	Layout datum.Layout

	Classes    int      // number of classes; default the highest label plus one
	ClassNames []string // names of the classes by label

	// MaxBytes is the size of uncompressed data that a file may announce;
	// default 4 GiB. Memory is taken as the data arrive, not as announced.
	MaxBytes int64

	NumShards    int  // the data set is cut into this many shards; default 1
	ShardID      int  // the shard that this reader starts with
	StickToShard bool // read the same shard in every epoch instead of moving on
	PadLastBatch bool // fill up with the last sample instead of going on
	Shuffle      bool // another order in every epoch

	Split pipeline.Split // the part of the data set to read, to train or to validate with; default the whole

	// Follow names the reader whose order this one takes: row for row it reads what has
	// the index of the other's sample; see [pipeline.ReaderOptions].
	Follow string
}

// IDX reads files of the IDX format, in which MNIST, Fashion-MNIST, EMNIST and
// others come (LeCun, Cortes, Burges: The MNIST database of handwritten digits).
// They are read whole when the reader is added and stay in memory.
//
// The type of image is the file's: uint8, int8, int16, int32, float32 or
// float64. The first dimension of the file counts the samples. Where two are
// left, a sample is a picture with one channel, H×W×1 in the layout HWC, so that
// operators on pictures take it; other samples have the dimensions that are
// left. Label is an int32 scalar, or no value where there is no file of labels.
// The fingerprint is one of the content.
//
// A file that is not sound is a *[FormatError] with the place in the file.
func IDX(g *pipeline.Graph, o IDXOptions) (image, label pipeline.Value) {
	if g.Err() != nil {
		return
	}
	src, err := newIDXSource(&o)
	if err != nil {
		fail(g, "readers.IDX", o.Name, err)
		return
	}
	v := g.Read(pipeline.ReaderOptions{
		Name: o.Name, NumShards: o.NumShards, ShardID: o.ShardID,
		StickToShard: o.StickToShard, PadLastBatch: o.PadLastBatch, Shuffle: o.Shuffle, Split: o.Split, Follow: o.Follow,
	}, src)
	if src.labels == nil {
		return v[0], label
	}
	return v[0], v[1]
}

var (
	_ datum.Toucher  = (*idxSource)(nil)
	_ datum.Gatherer = (*idxSource)(nil)
)

type idxSource struct {
	path    string
	images  *idxArray
	spec    datum.Spec // of a sample
	labels  []int32    // nil if there are none
	classes int
	meta    datum.Meta
}

func newIDXSource(o *IDXOptions) (*idxSource, error) {
	classes, err := declaredClasses(o.Classes, o.ClassNames)
	if err != nil {
		return nil, err
	}
	limit := o.MaxBytes
	switch {
	case o.Images == "":
		return nil, errors.New("Images is not given; name the file of the samples, such as \"train-images-idx3-ubyte.gz\"")
	case limit < 0:
		return nil, fmt.Errorf("MaxBytes is %d; it must be positive, or 0 for the default", limit)
	case limit == 0:
		limit = 4 << 30
	}
	s := &idxSource{path: o.Images, classes: classes}
	if s.images, err = readIDX(o.FS, o.Images, limit); err != nil {
		return nil, err
	}
	if s.spec, err = s.images.sampleSpec(o.Layout); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Images, err)
	}
	h := sha256.New()
	s.images.hash(h)
	if o.Labels != "" {
		labels, err := readIDX(o.FS, o.Labels, limit)
		if err != nil {
			return nil, err
		}
		if err := s.setLabels(o, labels); err != nil {
			return nil, err
		}
		labels.hash(h)
	} else if classes > 0 {
		return nil, errors.New("classes are declared, but no file of Labels is given")
	}
	s.meta = datum.Meta{Classes: slices.Clone(o.ClassNames), Fingerprint: binary.LittleEndian.Uint64(h.Sum(nil))}
	return s, nil
}

func (s *idxSource) setLabels(o *IDXOptions, a *idxArray) error {
	if len(a.dims) != 1 || a.dtype == datum.Float32 || a.dtype == datum.Float64 {
		return fmt.Errorf("%s holds %s data with %d dimensions; labels are whole numbers in one dimension", o.Labels, a.dtype, len(a.dims))
	}
	if a.dims[0] != s.images.dims[0] {
		return fmt.Errorf("%s holds %d samples, but %s holds %d labels; give two files that belong together", o.Images, s.images.dims[0], o.Labels, a.dims[0])
	}
	s.labels = make([]int32, a.dims[0])
	for i := range s.labels {
		label := a.whole(i)
		if err := checkLabel(label, s.classes); err != nil {
			return &FormatError{Path: o.Labels, Offset: a.offset(i), Err: fmt.Errorf("sample %d: %w", i, err)}
		}
		s.labels[i] = int32(label)
	}
	if s.classes == 0 {
		s.classes = int(slices.Max(s.labels)) + 1
	}
	return nil
}

func (s *idxSource) Len() int64       { return int64(s.images.dims[0]) }
func (s *idxSource) Meta() datum.Meta { return s.meta }

func (s *idxSource) Outputs() []datum.Spec {
	if s.labels == nil {
		return []datum.Spec{s.spec}
	}
	return []datum.Spec{s.spec, {DType: datum.Int32, Classes: s.classes}}
}

// sample returns the data of a sample.
func (s *idxSource) sample(index int64) []byte {
	n := len(s.images.data) / s.images.dims[0]
	return s.images.data[int(index)*n : int(index+1)*n : int(index+1)*n]
}

// Touch implements datum.Toucher.
func (s *idxSource) Touch(index int64) { imaging.Touch(s.sample(index)) }

func (s *idxSource) Read(_ context.Context, index int64, out []*datum.Tensor) error {
	if err := out[0].Lend(s.sample(index), s.spec.Shape...); err != nil {
		return err
	}
	if s.labels == nil {
		return nil
	}
	return putLabel(out[1], s.labels[index])
}

// Gathers implements datum.Gatherer.
func (s *idxSource) Gathers() bool { return true }

// Gather implements datum.Gatherer.
func (s *idxSource) Gather(index []int64, out []datum.Rows) bool {
	gather(out[0].Data, s.images.data, index)
	if s.labels != nil {
		gather(out[1].Data, datum.BytesOf(s.labels), index)
	}
	return true
}

// Label implements [datum.Labelled].
func (s *idxSource) Label(index int64) (int32, bool) {
	if s.labels == nil {
		return 0, false
	}
	return s.labels[index], true
}

// Describe returns the file and the place of the sample in it.
func (s *idxSource) Describe(index int64) string { return describe(s.path, "", index) }
