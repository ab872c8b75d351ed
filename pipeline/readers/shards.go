package readers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/planktonml/plankton/internal/meter"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/index"
)

// ShardsOptions configures [Shards]. Root, FS or Index must be given.
type ShardsOptions struct {
	Name string // of the reader; default "reader", "reader2", …

	// Root is the folder of the shards; with FS, one of its folders, by default ".".
	Root string
	// FS is the place of the shards; default the file system of the machine. Where it
	// is a [storage.RangeReader] it is asked for ranges, else files stay open.
	FS fs.FS
	// Files names the shards below Root, in the order in which they are read; default
	// all in Root, in the order of their names.
	Files []string

	// Index says where the samples lie in FS or below Root; default that of the shards,
	// made with IndexOptions. With it there are no Files.
	Index        *index.Index
	IndexOptions index.Options

	// Members are the outputs: the endings of files in a tar archive, the features of
	// TFRecords, columns. "jpg;png" is whichever of the two a sample has, the first one
	// named if it has both. Default [DefaultMembers].
	Members []string

	// Classes is the number of classes; default the highest label plus one. ClassNames
	// are their names by label.
	Classes    int
	ClassNames []string
	// Unlabelled gives samples without labels the label 0, as a folder of files alone
	// does, where no sample has one.
	Unlabelled bool

	// Unchecked leaves out the checksums of TFRecords.
	Unchecked bool

	// Open is how many shards are kept open; default 256.
	Open int
	// ReadAhead is as in [FileOptions].
	ReadAhead int

	// LookAhead is how many bytes of memory are set aside to fetch what the run is going to read,
	// along its plan and over the ends of epochs, where FS is a [storage.RangeReader]; default
	// 256 MiB, negative for none. They count as the pipeline's memory. What is shuffled
	// together (iterator.Options.ShuffleGroup) must fit, and should fit twice. Requests is how
	// many requests may be under way for that, 1 to 256, as far as the store lets them
	// (storage.Network.InFlight); default 64.
	LookAhead int64
	Requests  int

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

// DefaultMembers are the members that hold a picture in usual shards.
func DefaultMembers() []string {
	return []string{"jpg;jpeg;jpe;png;image/encoded;image"}
}

// Shards reads samples that lie in shards: tar archives as WebDataset has them, TFRecord
// files of tf.train.Example, and what else package storage/index has an index of. It
// returns an output for every member, in the order of Members, and the label: an int32
// scalar, or no value where no sample has one.
//
// A member is its bytes (uint8, one dimension whose length differs); decode pictures next.
// Lists of numbers of TFRecords are int64 or float32 with one dimension that differs. A
// .npy file in a tar archive is its array, whose dimensions may differ; type and number of
// dimensions are those of the first one, and a sample with others fails. A sample that lacks a member fails, and so do one whose shard was cut off or changed since
// and one whose checksum is wrong; see [pipeline.Options.OnError].
//
// Samples keep their order in the shards, and shards that of Files. The fingerprint is one
// of names, labels and sizes, and does not change where the same samples lie in other
// shards.
//
// Reading opens no file for a sample and allocates nothing once all shards are open. Shards
// in a compressed zip archive are read from their beginning for every sample.
func Shards(g *pipeline.Graph, o ShardsOptions) (members []pipeline.Value, label pipeline.Value) {
	if len(o.Members) == 0 {
		o.Members = DefaultMembers()
	}
	none := make([]pipeline.Value, len(o.Members))
	if g.Err() != nil {
		return none, label
	}
	src, err := newShardsSource(&o)
	if err != nil {
		fail(g, "readers.Shards", o.Name, err)
		return none, label
	}
	v := g.Read(pipeline.ReaderOptions{
		Name: o.Name, NumShards: o.NumShards, ShardID: o.ShardID,
		StickToShard: o.StickToShard, PadLastBatch: o.PadLastBatch, Shuffle: o.Shuffle, Split: o.Split, Follow: o.Follow,
	}, src)
	if !src.labelled {
		return v[:len(o.Members)], label
	}
	return v[:len(o.Members)], v[len(o.Members)]
}

// shardsSource reads what an index leads to.
type shardsSource struct {
	place   storage.RangeReader
	machine bool   // place is a folder of the file system of the machine
	shown   string // in front of the names of objects in messages
	index   *index.Index
	members []member
	specs   []datum.Spec
	meta    datum.Meta

	labelled, unlabelled bool // there is an output of labels; all of them are 0
	unchecked            bool
	readAhead            int
	lookAhead            lookAheadOptions
}

// member is an output: the fields that it may be.
type member struct {
	name   string
	fields []int
	kind   index.Kind
	npy    *npyMember // nil unless its files are arrays
}

var (
	_ datum.Labelled = (*shardsSource)(nil)
	_ datum.Sharded  = (*shardsSource)(nil)
	_ datum.Stored   = (*shardsSource)(nil)

	_ datum.PlanReader = (*shardsSource)(nil)
)

func newShardsSource(o *ShardsOptions) (*shardsSource, error) {
	s := &shardsSource{index: o.Index, unchecked: o.Unchecked, readAhead: o.ReadAhead}
	if s.readAhead == 0 {
		s.readAhead = defaultReadAhead
	}
	place, err := s.open(o)
	if err != nil {
		return nil, err
	}
	limit := o.Open
	if limit == 0 {
		limit = 256
	}
	s.place = meter.Watch(storage.Keep(place, limit))
	if s.lookAhead, err = newLookAhead(o.LookAhead, o.Requests, !s.local()); err != nil {
		return nil, err
	}
	for _, name := range o.Members {
		m, err := s.member(name)
		if err != nil {
			return nil, err
		}
		if !s.index.Framed() && isNPY(s.index.Fields()[m.fields[0]].Name) {
			if err := s.openNPY(&m); err != nil {
				return nil, err
			}
		}
		s.members = append(s.members, m)
		s.specs = append(s.specs, m.spec())
	}
	s.meta.Fingerprint = s.index.Fingerprint()
	return s, s.labels(o)
}

// open finds the place and the index.
func (s *shardsSource) open(o *ShardsOptions) (place fs.FS, err error) {
	place = o.FS
	switch {
	case o.FS == nil && o.Root == "":
		return nil, errors.New("neither Root nor FS is given; name the folder of the shards")
	case o.Index != nil && o.Files != nil:
		return nil, errors.New("both Files and an Index are given; the index has the names of its files")
	case o.FS == nil:
		root, err := absolute(o.Root)
		if err != nil {
			return nil, err
		}
		place, s.shown, s.machine = os.DirFS(root), root, true
	case o.Root != "" && o.Root != ".":
		if place, err = fs.Sub(o.FS, o.Root); err != nil {
			return nil, fmt.Errorf("Root: %w", err)
		}
		s.shown = o.Root + "/"
	default:
		if k, ok := o.FS.(*storage.Kept); ok && k.Folder() != "" {
			if s.shown, err = absolute(k.Folder()); err != nil {
				return nil, err
			}
			s.machine = true
		}
	}
	if o.Index != nil {
		return place, nil
	}
	files := o.Files
	if files == nil {
		if files, err = index.Shards(place, "."); err != nil {
			return nil, fmt.Errorf("Root %s: %w", shown(o.Root), cause(err))
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("Root %s holds no shards; give a folder of .tar or .tfrecord files", shown(o.Root))
		}
	}
	// Building a pipeline has no context of its own.
	s.index, err = index.Open(context.Background(), place, files, o.IndexOptions)
	return place, err
}

// member finds the fields of an output.
func (s *shardsSource) member(name string) (member, error) {
	m := member{name: name}
	fields := s.index.Fields()
	for _, one := range strings.Split(name, ";") {
		f := s.index.Field(one)
		if f < 0 {
			continue
		}
		if len(m.fields) > 0 && isNPY(fields[f].Name) != isNPY(fields[m.fields[0]].Name) {
			return m, fmt.Errorf("Members has %q, whose parts are arrays and other files; make outputs of them", name)
		}
		if len(m.fields) > 0 && fields[f].Kind != m.kind {
			return m, fmt.Errorf("Members has %q, whose parts hold different data (%s and %s); make outputs of them", name, m.kind, fields[f].Kind)
		}
		m.kind = fields[f].Kind
		m.fields = append(m.fields, f)
	}
	if len(m.fields) == 0 {
		var there []string
		for _, f := range fields {
			there = append(there, f.Shown())
		}
		return m, fmt.Errorf("no sample has a member %q; there are %s; name one of them in Members", name, strings.Join(there, ", "))
	}
	return m, nil
}

func (m *member) spec() datum.Spec {
	if m.npy != nil {
		shape := make([]int, m.npy.dims)
		for i := range shape {
			shape[i] = -1
		}
		return datum.Spec{DType: m.npy.dtype, Shape: shape}
	}
	switch m.kind {
	case index.Int64List:
		return datum.Spec{DType: datum.Int64, Shape: []int{-1}}
	case index.FloatList:
		return datum.Spec{DType: datum.Float32, Shape: []int{-1}}
	}
	return datum.Spec{DType: datum.Uint8, Shape: []int{-1}}
}

// labels adds the output of the labels, if there are any.
func (s *shardsSource) labels(o *ShardsOptions) error {
	classes, err := declaredClasses(o.Classes, o.ClassNames)
	if err != nil {
		return err
	}
	s.labelled = s.index.Labelled()
	s.unlabelled = !s.labelled && o.Unlabelled
	switch {
	case s.unlabelled:
		s.labelled = true
	case s.labelled:
		highest := int32(0)
		for i := range s.index.Len() {
			label := s.index.Label(i)
			if label == index.NoLabel {
				continue
			}
			if err := checkLabel(int64(label), classes); err != nil {
				return fmt.Errorf("%s: %w", s.Describe(i), err)
			}
			highest = max(highest, label)
		}
		if classes == 0 {
			classes = int(highest) + 1
		}
		s.meta.Classes = o.ClassNames
	}
	if s.labelled {
		s.specs = append(s.specs, datum.Spec{DType: datum.Int32, Classes: classes})
	}
	return nil
}

func (s *shardsSource) Len() int64            { return s.index.Len() }
func (s *shardsSource) Meta() datum.Meta      { return s.meta }
func (s *shardsSource) Outputs() []datum.Spec { return s.specs }

// SampleName implements [datum.Named].
func (s *shardsSource) SampleName(sample int64) string { return s.index.Name(sample) }

// EntryName implements [datum.Listed]: a sample without a name goes by its shard and its
// number there, from 0.
func (s *shardsSource) EntryName(sample int64) string {
	if name := s.index.Name(sample); name != "" {
		return name
	}
	object := s.index.Object(sample)
	from, _ := s.index.Samples(object)
	return fmt.Sprintf("%s[%d]", s.index.Objects()[object].Name, sample-from)
}

// Label implements [datum.Labelled].
func (s *shardsSource) Label(sample int64) (int32, bool) {
	if s.unlabelled || !s.labelled {
		return 0, false
	}
	label := s.index.Label(sample)
	return label, label != index.NoLabel
}

// Describe returns the shard and the sample's name in it, or its number there, from 0.
func (s *shardsSource) Describe(sample int64) string {
	object := s.index.Object(sample)
	file := s.shown + s.index.Objects()[object].Name
	if name := s.index.Name(sample); name != "" {
		return file + ": " + name
	}
	from, _ := s.index.Samples(object)
	return fmt.Sprintf("%s: sample %d", file, sample-from)
}

// Storage implements [datum.Stored].
func (s *shardsSource) Storage() []datum.Storage {
	return meter.Storage(s.place, s.machine, s.lookAhead.bytes, s.lookAhead.requests)
}

// ShardEnds implements [datum.Sharded].
func (s *shardsSource) ShardEnds() (ends []int64) {
	for object := range s.index.Objects() {
		if from, to := s.index.Samples(object); to > from {
			ends = append(ends, to)
		}
	}
	return ends
}
