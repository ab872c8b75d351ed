package readers

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planktonml/plankton/internal/labels"
	"github.com/planktonml/plankton/internal/meter"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
)

// NPYOptions configures [NPY]. Root or FS, and Arrays, must be given.
type NPYOptions struct {
	Name string // of the reader; default "reader", "reader2", …

	// Root is the folder of the files. With FS it is a path in there, default ".".
	Root string
	// FS is the place of the files; default the file system of the machine.
	FS fs.FS

	// Arrays are the outputs. All must have as many samples.
	Arrays []Array

	// MaxBytes bounds what is taken into memory of compressed members of .npz files, all
	// together; default 4 GiB.
	MaxBytes int64

	NumShards    int  // the data set is cut into this many shards; default 1
	ShardID      int  // the shard that this reader starts with
	StickToShard bool // read the same shard in every epoch instead of moving on
	PadLastBatch bool // fill up with the last sample instead of going on
	Shuffle      bool // another order in every epoch

	Split pipeline.Split // the part of the data set to read, to train or to validate with; default the whole

	// Follow names the reader whose order this one takes; see [pipeline.ReaderOptions].
	Follow string
}

// Array is an array in a file of NumPy, whose first dimension counts the samples.
type Array struct {
	File   string // path of a .npy or .npz file below Root, with slashes
	Member string // of an .npz file, the name of the array, such as "x_train"

	Layout datum.Layout // names of the dimensions of a sample

	// Label makes it the class labels: one whole number for each sample.
	Label      bool
	Classes    int // default the highest label plus one
	ClassNames []string
}

// NPY reads arrays of NumPy: files that numpy.save wrote, and members of those that
// numpy.savez wrote. A sample is what is at one place of the first dimension; an array of
// one dimension gives scalars. Elements may be whole numbers, float16, float32, float64
// and bool, in either byte order.
//
// Samples are read where they lie, in any order, without an allocation. Members that
// numpy.savez_compressed wrote are decompressed once, when the reader is added, and stay
// in memory. Arrays in Fortran's order, of texts, objects and complex numbers are refused.
//
// A file that is cut off is an error when the reader is added. The fingerprint is one of
// the names, types and shapes, and of the labels.
func NPY(g *pipeline.Graph, o NPYOptions) []pipeline.Value {
	none := make([]pipeline.Value, len(o.Arrays))
	if g.Err() != nil {
		return none
	}
	src, err := newNPYSource(context.Background(), &o) // building a pipeline has no context of its own
	if err != nil {
		fail(g, "readers.NPY", o.Name, err)
		return none
	}
	return g.Read(pipeline.ReaderOptions{
		Name: o.Name, NumShards: o.NumShards, ShardID: o.ShardID,
		StickToShard: o.StickToShard, PadLastBatch: o.PadLastBatch, Shuffle: o.Shuffle, Split: o.Split, Follow: o.Follow,
	}, src)
}

type npySource struct {
	place   storage.RangeReader
	machine bool   // place is a folder of the file system of the machine
	shown   string // in front of the names of files in messages
	arrays  []npyArray
	specs   []datum.Spec
	meta    datum.Meta
	classes *labels.Labels // nil where there are none
}

// npyArray is an array, which lies in a file or in memory.
type npyArray struct {
	Array
	npyHeader
	offset int64  // of its elements in the file
	data   []byte // its elements, in the machine's byte order; nil where they are in the file
}

func newNPYSource(ctx context.Context, o *NPYOptions) (*npySource, error) {
	s := &npySource{}
	limit := o.MaxBytes
	switch {
	case o.FS == nil && o.Root == "":
		return nil, errors.New("neither Root nor FS is given; name the folder of the files")
	case len(o.Arrays) == 0:
		return nil, errors.New("Arrays is empty; choose at least one")
	case limit < 0:
		return nil, fmt.Errorf("MaxBytes is %d; it must be positive, or 0 for the default", limit)
	case limit == 0:
		limit = 4 << 30
	}
	place := o.FS
	if place == nil {
		root, err := absolute(o.Root)
		if err != nil {
			return nil, err
		}
		place, s.shown, s.machine = os.DirFS(root), root, true
	} else if o.Root != "" && o.Root != "." {
		var err error
		if place, err = fs.Sub(place, o.Root); err != nil {
			return nil, fmt.Errorf("Root: %w", err)
		}
		s.shown = o.Root + "/"
	}
	s.place = meter.Watch(storage.Keep(place, 64))
	for i := range o.Arrays {
		a := npyArray{Array: o.Arrays[i]}
		if err := s.open(ctx, &a, &limit); err != nil {
			return nil, fmt.Errorf("%s: %w", a.describe(), cause(err))
		}
		if first := &o.Arrays[0]; i > 0 && a.shape[0] != s.arrays[0].shape[0] {
			return nil, fmt.Errorf("%s has %d samples, %s has %d; all arrays must have the same", a.describe(), a.shape[0], first.describe(), s.arrays[0].shape[0])
		}
		s.arrays = append(s.arrays, a)
	}
	return s, s.describe(ctx)
}

// describe names an array for messages.
func (a *Array) describe() string {
	if a.Member == "" {
		return shown(a.File)
	}
	return shown(a.File) + ": " + shown(a.Member)
}

// open finds an array.
func (s *npySource) open(ctx context.Context, a *npyArray, limit *int64) error {
	if !fs.ValidPath(a.File) {
		return errors.New("this is no path of a file below Root, with slashes")
	}
	info, err := fs.Stat(s.place, a.File)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return notRegular(info.Mode().Type())
	}
	if strings.EqualFold(filepath.Ext(a.File), ".npz") {
		return s.openMember(ctx, a, info.Size(), limit)
	}
	if a.Member != "" {
		return fmt.Errorf("Member is %s, but only .npz files have members; leave it out", shown(a.Member))
	}
	return s.openAt(ctx, a, 0, info.Size())
}

// openAt reads the header of an array that lies in bytes of the file.
func (s *npySource) openAt(ctx context.Context, a *npyArray, from, size int64) error {
	start := make([]byte, min(npyPrefix, size))
	if err := storage.ReadRange(ctx, s.place, a.File, from, start); err != nil {
		return err
	}
	n, err := npyHeaderSize(start)
	if err != nil {
		return err
	}
	if n > size {
		return errors.New("the header is cut off; copy or write the file again")
	}
	head := make([]byte, n)
	if err := storage.ReadRange(ctx, s.place, a.File, from, head); err != nil {
		return err
	}
	return a.take(head, from, size)
}

// take parses the header and compares it with the bytes that there are.
func (a *npyArray) take(head []byte, from, size int64) (err error) {
	if a.npyHeader, err = parseNPYHeader(head); err != nil {
		return err
	}
	a.offset = from + a.size
	switch have := size - a.size; {
	case have < a.bytes():
		return fmt.Errorf("the array has %d bytes, there are %d: the file was cut off; copy or write it again", a.bytes(), have)
	case have > a.bytes():
		return fmt.Errorf("the array has %d bytes, there are %d: the file is damaged, or has more than one array", a.bytes(), have)
	}
	return nil
}

// openMember finds an array in a .npz file, which is a zip archive.
func (s *npySource) openMember(ctx context.Context, a *npyArray, size int64, limit *int64) error {
	archive, err := zip.NewReader(&placeReader{ctx, s.place, a.File}, size)
	if err != nil {
		return fmt.Errorf("no .npz file, which is a zip archive: %w", err)
	}
	var names []string
	for _, f := range archive.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		if name != a.Member {
			names = append(names, name)
			continue
		}
		if f.Method != zip.Store {
			return s.decompress(ctx, a, f, limit)
		}
		from, err := f.DataOffset()
		if err != nil {
			return err
		}
		if f.UncompressedSize64 > uint64(size) || uint64(from) > uint64(size)-f.UncompressedSize64 {
			return errors.New("the archive is damaged: the member lies outside of the file")
		}
		return s.openAt(ctx, a, from, int64(f.UncompressedSize64))
	}
	if a.Member == "" {
		return fmt.Errorf("Member is not given; there are %s", listOf(names))
	}
	return fmt.Errorf("there is no such member; there are %s", listOf(names))
}

// decompress takes a compressed member into memory.
func (s *npySource) decompress(ctx context.Context, a *npyArray, f *zip.File, limit *int64) error {
	if f.UncompressedSize64 > uint64(*limit) {
		return fmt.Errorf("the member is compressed and has %d bytes; %d more may be taken into memory: raise MaxBytes, or save it by numpy.savez", f.UncompressedSize64, *limit)
	}
	*limit -= int64(f.UncompressedSize64)
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	text := make([]byte, 0, min(f.UncompressedSize64, firstBytes))
	for uint64(len(text)) < f.UncompressedSize64 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(text) == cap(text) {
			text = append(make([]byte, 0, min(f.UncompressedSize64, 2*uint64(cap(text)))), text...)
		}
		n, err := r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if _, err := io.ReadFull(r, make([]byte, 1)); err != io.EOF { // where the checksum is compared
		return fmt.Errorf("the archive is damaged: %w", errors.Join(err, errors.New("the member does not end where it is to")))
	}
	if err := a.take(text, 0, int64(len(text))); err != nil {
		return err
	}
	a.data = append([]byte(nil), text[a.size:]...) // aligned for its elements
	if a.swap {
		swapBytes(a.data, a.dtype.Size())
	}
	return nil
}

// placeReader is a file of a place as package zip reads it when it is opened.
type placeReader struct {
	ctx   context.Context
	place storage.RangeReader
	name  string
}

func (r *placeReader) ReadAt(p []byte, off int64) (int, error) {
	if err := storage.ReadRange(r.ctx, r.place, r.name, off, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// describe sets the outputs, reads the labels and sets the fingerprint.
func (s *npySource) describe(ctx context.Context) error {
	h := sha256.New()
	for i := range s.arrays {
		a := &s.arrays[i]
		spec := datum.Spec{DType: a.dtype, Shape: a.shape[1:], Layout: a.Layout}
		switch {
		case a.Label && s.classes != nil:
			return fmt.Errorf("%s is a second Label; a data set has one", a.Array.describe())
		case a.Label:
			if err := s.readLabels(ctx, a); err != nil {
				return err
			}
			spec = datum.Spec{DType: datum.Int32, Classes: s.classes.Classes}
			s.meta.Classes = s.classes.Names
			_ = binary.Write(h, binary.LittleEndian, s.classes.Of)
		case a.Classes != 0 || a.ClassNames != nil:
			return fmt.Errorf("%s has classes and is no Label; set Label", a.Array.describe())
		case a.Layout != "" && len(a.Layout) != len(spec.Shape):
			return fmt.Errorf("%s: Layout %q names %d dimensions, a sample has %d", a.Array.describe(), a.Layout, len(a.Layout), len(spec.Shape))
		}
		fmt.Fprintf(h, "%q %q %v %v\n", a.File, a.Member, spec, a.shape)
		s.specs = append(s.specs, spec)
	}
	s.meta.Fingerprint = binary.LittleEndian.Uint64(h.Sum(nil))
	return nil
}

// readLabels reads an array of labels.
func (s *npySource) readLabels(ctx context.Context, a *npyArray) error {
	if len(a.shape) != 1 || a.dtype == datum.Float16 || a.dtype == datum.Float32 || a.dtype == datum.Float64 {
		return fmt.Errorf("%s has %s elements and %d dimensions; labels are whole numbers in one dimension", a.Array.describe(), a.dtype, len(a.shape))
	}
	mem := a.data
	if mem == nil {
		mem = make([]byte, a.bytes())
		if err := storage.ReadRange(ctx, s.place, a.File, a.offset, mem); err != nil {
			return err
		}
		if a.swap {
			swapBytes(mem, a.dtype.Size())
		}
	}
	values := make([]int64, a.shape[0])
	size := a.dtype.Size()
	for i := range values {
		values[i] = wholeOf(a.dtype, mem[i*size:(i+1)*size])
	}
	var err error
	s.classes, err = labels.Whole(values, a.Classes, a.ClassNames, func(i int) string { return fmt.Sprintf("%s: sample %d", a.Array.describe(), i) })
	return err
}

// wholeOf returns a whole number of memory.
func wholeOf(dt datum.DType, mem []byte) int64 {
	switch dt {
	case datum.Uint8, datum.Bool:
		return int64(mem[0])
	case datum.Int8:
		return int64(int8(mem[0]))
	case datum.Uint16:
		return int64(binary.NativeEndian.Uint16(mem))
	case datum.Int16:
		return int64(int16(binary.NativeEndian.Uint16(mem)))
	case datum.Uint32:
		return int64(binary.NativeEndian.Uint32(mem))
	case datum.Int32:
		return int64(int32(binary.NativeEndian.Uint32(mem)))
	}
	return int64(binary.NativeEndian.Uint64(mem)) // above the range of labels it is below 0
}

func (s *npySource) Len() int64            { return int64(s.arrays[0].shape[0]) }
func (s *npySource) Outputs() []datum.Spec { return s.specs }
func (s *npySource) Meta() datum.Meta      { return s.meta }

func (s *npySource) Read(ctx context.Context, index int64, out []*datum.Tensor) error {
	for i := range s.arrays {
		a := &s.arrays[i]
		if a.Label {
			if err := putLabel(out[i], s.classes.Of[index]); err != nil {
				return err
			}
			continue
		}
		n := a.row()
		if a.data != nil {
			if err := out[i].Lend(a.data[index*n:(index+1)*n:(index+1)*n], s.specs[i].Shape...); err != nil {
				return err
			}
			continue
		}
		mem, err := out[i].Resize(s.specs[i].Shape...)
		if err != nil {
			return err
		}
		if err := storage.ReadRange(ctx, s.place, a.File, a.offset+index*n, mem); err != nil {
			return err
		}
		if a.swap {
			swapBytes(mem, a.dtype.Size())
		}
	}
	return nil
}

// Gathers implements datum.Gatherer: the arrays must be in memory.
func (s *npySource) Gathers() bool {
	return !slices.ContainsFunc(s.arrays, func(a npyArray) bool { return !a.Label && a.data == nil })
}

// Gather implements datum.Gatherer.
func (s *npySource) Gather(index []int64, out []datum.Rows) bool {
	for i := range s.arrays {
		if a := &s.arrays[i]; a.Label {
			gather(out[i].Data, datum.BytesOf(s.classes.Of), index)
		} else {
			gather(out[i].Data, a.data, index)
		}
	}
	return true
}

// EntryName implements [datum.Listed]: a sample is named by the file of the first array.
func (s *npySource) EntryName(index int64) string {
	return describe(s.arrays[0].Array.describe(), "", index)
}

// Label implements [datum.Labelled].
func (s *npySource) Label(index int64) (int32, bool) {
	if s.classes == nil {
		return 0, false
	}
	return s.classes.Of[index], true
}

// Storage implements [datum.Stored].
func (s *npySource) Storage() []datum.Storage { return meter.Storage(s.place, s.machine, 0, 0) }

// Describe returns the file of the first array and the place of the sample in it.
func (s *npySource) Describe(index int64) string { return s.shown + s.EntryName(index) }
