package readers

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planktonml/plankton/internal/meter"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
)

// FileOptions configures [File]. Root, List or Files must be given.
type FileOptions struct {
	Name string // of the reader; default "reader", "reader2", …

	// Root is a folder in one of two forms:
	//
	//   - One folder per class: files get the place of their folder among the
	//     sorted names as their label. Files may lie deeper in a class folder.
	//     A class folder without files keeps its label.
	//   - Files only: every label is 0, and there are no classes.
	//
	// A folder with files of both kinds is refused. Files and folders whose
	// names begin with a dot are left out; links to files and to class folders
	// are followed. With List it is the folder that the list's paths are
	// relative to.
	Root string

	// FS is the place of the files, such as an [os.Root], an embed.FS, a zip archive or a
	// bucket; default the file system of the machine, which is read fastest. With it Root is
	// a folder of FS, by default ".", and the paths of List and Files are names in FS,
	// below Root. A [storage.RangeReader] is asked for whole files as ranges.
	FS fs.FS

	// List is a text file with lines of a path and a label, such as
	// "cat/1 of 2.jpg 0". Paths may have blanks in them; they are relative to
	// Root, or to the list's folder without a Root. The order of the list is
	// kept, and a file can be on it once. Whether the files exist shows when
	// they are read.
	List string

	// Files names the files one by one, relative to Root, or to the working
	// directory without a Root. Their order is kept, and a file can be there once.
	// Whether they exist shows when they are read. Labels are the classes of the
	// files; without them a file's label is its place in Files. Exclusive with
	// List, and as it is in NVIDIA DALI.
	Files  []string
	Labels []int

	// Extensions are the endings of the files to take from Root, upper or
	// lower case; default [DefaultExtensions]. List and Files are taken as they
	// are.
	Extensions []string

	// Classes is the number of classes. The default is the number of class
	// folders, or the highest label of List or Files plus one.
	Classes int
	// ClassNames are the names of the classes by label. With class folders
	// they are the folders' names, in the order of the labels, and folders of
	// other names are an error: this keeps labels the same where data sets,
	// such as one to validate with, lack some of the classes.
	ClassNames []string

	// ReadAhead is how many files ahead of the workers the system is asked to
	// bring into memory, where they are on a disk; see [datum.Prefetcher].
	// Default 128, -1 for none. Files that are in the page cache cost next to
	// nothing. Linux only.
	ReadAhead int

	// LookAhead and Requests are as in [ShardsOptions], for files of an FS that is a
	// [storage.RangeReader], where the sizes of files are in the lists of folders.
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

// DefaultExtensions are the endings of files that [File] takes from a folder if
// its options do not say otherwise: those of the formats that ops.DecodeImage
// reads.
func DefaultExtensions() []string {
	return []string{".jpg", ".jpeg", ".jpe", ".png"}
}

// File reads whole files: encoded is a file's bytes (uint8, one dimension whose
// length differs), label its class (int32 scalar). Decode pictures next.
//
// Samples are sorted by label and then by the bytes of their path, so that the
// same files give the same order everywhere; List and Files keep their own order. The
// fingerprint is one of the relative paths and the labels; the content and size
// of ten million files would take too long to look at.
//
// A file must be regular, not empty and smaller than 2 GiB, and keep its size
// while it is read; anything else is an error of that sample. On Linux reading
// allocates nothing.
func File(g *pipeline.Graph, o FileOptions) (encoded, label pipeline.Value) {
	if g.Err() != nil {
		return
	}
	src, err := newFileSource(&o)
	if err != nil {
		fail(g, "readers.File", o.Name, err)
		return
	}
	return o.read(g, src)
}

// read adds the reader of a source that was made of the options.
func (o *FileOptions) read(g *pipeline.Graph, src *fileSource) (encoded, label pipeline.Value) {
	v := g.Read(pipeline.ReaderOptions{
		Name: o.Name, NumShards: o.NumShards, ShardID: o.ShardID,
		StickToShard: o.StickToShard, PadLastBatch: o.PadLastBatch, Shuffle: o.Shuffle, Split: o.Split, Follow: o.Follow,
	}, src)
	return v[0], v[1]
}

type fileSource struct {
	place   fs.FS  // nil for the file system of the machine
	root    string // absolute, ends in a separator; in a place empty, or a folder with a slash
	files   fileList
	classes int
	meta    datum.Meta

	readAhead int // of the options, defaults filled in
	lookAhead lookAheadOptions
	scanned   bool // the files are those of a folder, in the order of their paths
}

const defaultReadAhead = 128

func newFileSource(o *FileOptions) (*fileSource, error) {
	classes, err := declaredClasses(o.Classes, o.ClassNames)
	if err != nil {
		return nil, err
	}
	s := &fileSource{classes: classes, readAhead: o.ReadAhead, place: o.FS}
	if s.readAhead == 0 {
		s.readAhead = defaultReadAhead
	}
	remote := s.remote() != nil
	if s.lookAhead, err = newLookAhead(o.LookAhead, o.Requests, remote); err != nil {
		return nil, err
	}
	switch {
	case len(o.Files) > 0:
		err = s.fromFiles(o)
	case o.Labels != nil:
		err = errors.New("Labels are given, but no Files; a folder's labels are those of its class folders, a List has its own")
	case o.List != "":
		err = s.fromList(o)
	case o.Root != "" || o.FS != nil:
		err = s.fromRoot(o)
	default:
		err = errors.New("neither Root nor List nor Files is given; name a folder of files or of one folder per class, a list of files, or files")
	}
	if err != nil {
		return nil, err
	}
	if remote && !s.files.sized && (o.LookAhead > 0 || o.Requests > 0) {
		return nil, errors.New("LookAhead and Requests need the sizes of the files, which are in the lists of folders; read a folder, or leave them out")
	}
	s.meta.Fingerprint = s.fingerprint()
	if place, ok := s.place.(storage.RangeReader); ok {
		s.place = meter.Watch(place)
	}
	return s, nil
}

func (s *fileSource) fromList(o *FileOptions) (err error) {
	if len(o.Extensions) > 0 {
		return errors.New("Extensions are for folders; a List is taken as it is")
	}
	root := o.Root
	if root == "" && o.FS == nil {
		root = filepath.Dir(o.List)
	}
	if s.root, err = rootIn(o.FS, root); err != nil {
		return err
	}
	if s.files, err = readList(o.FS, o.List, s.classes); err != nil {
		return err
	}
	if s.classes == 0 {
		s.classes = s.files.classes()
	}
	s.meta.Classes = slices.Clone(o.ClassNames)
	return nil
}

func (s *fileSource) fromRoot(o *FileOptions) (err error) {
	extensions, err := withDots(o.Extensions)
	if err != nil {
		return err
	}
	if s.root, err = rootIn(o.FS, o.Root); err != nil {
		return err
	}
	s.scanned = true
	s.files, s.meta.Classes, err = scanRoot(s.place, s.root, extensions, o.ClassNames)
	switch n := len(s.meta.Classes); {
	case err != nil:
		return err
	case s.classes > 0 && n == 0:
		return fmt.Errorf("%d classes are declared, but Root %s has no class folders; leave Classes and ClassNames out, or give the labels in a List", s.classes, s.root)
	case s.classes > 0 && n != s.classes:
		return fmt.Errorf("Classes is %d, but Root %s has %d class folders; correct it, or give ClassNames", s.classes, s.root, n)
	default:
		s.classes = n
	}
	return nil
}

// rootIn returns a folder as it stands in front of paths: of the machine, where there is
// no place.
func rootIn(place fs.FS, dir string) (string, error) {
	switch {
	case place == nil:
		return absolute(dir)
	case dir == "" || dir == ".":
		return "", nil
	case !fs.ValidPath(dir):
		return "", fmt.Errorf("Root %s is no path of an fs.FS: give one with slashes, not rooted and without \"..\"", shown(dir))
	}
	return dir + "/", nil
}

// absolute makes a folder independent of the working directory and gives it a
// separator at its end.
func absolute(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("Root: %w", err)
	}
	if !os.IsPathSeparator(dir[len(dir)-1]) {
		dir += string(filepath.Separator)
	}
	return dir, nil
}

// withDots returns extensions with the dot in front that people may leave out.
func withDots(extensions []string) ([]string, error) {
	if len(extensions) == 0 {
		return DefaultExtensions(), nil
	}
	dotted := make([]string, len(extensions))
	for i, e := range extensions {
		dotted[i] = "." + strings.TrimPrefix(e, ".")
		if dotted[i] == "." {
			return nil, fmt.Errorf("Extensions[%d] is %q; want one such as \".jpg\"", i, e)
		}
	}
	return dotted, nil
}

func (s *fileSource) fingerprint() uint64 {
	h := sha256.New()
	w := bufio.NewWriter(h)
	for c := s.files.from(0); c.next(); {
		w.Write(c.path)
		w.WriteByte(0)
		w.Write(binary.LittleEndian.AppendUint32(w.AvailableBuffer(), uint32(c.label)))
	}
	w.Flush()
	return binary.LittleEndian.Uint64(h.Sum(nil))
}

func (s *fileSource) Len() int64       { return int64(s.files.len()) }
func (s *fileSource) Meta() datum.Meta { return s.meta }

// Storage implements [datum.Stored].
func (s *fileSource) Storage() []datum.Storage {
	return meter.Storage(s.place, s.place == nil, s.lookAhead.bytes, s.lookAhead.requests)
}

func (s *fileSource) Outputs() []datum.Spec {
	return []datum.Spec{
		{DType: datum.Uint8, Shape: []int{-1}},
		{DType: datum.Int32, Classes: s.classes},
	}
}

func (s *fileSource) Read(ctx context.Context, index int64, out []*datum.Tensor) error {
	if s.place != nil {
		return s.readPlace(ctx, ranges{place: s.remote()}, int(index), out)
	}
	var room [nameRoom]byte
	name, label := s.appendName(room[:0], int(index))
	if err := readWhole(ctx, name, out[0]); err != nil {
		return err
	}
	return putLabel(out[1], label)
}

// nameRoom is enough for names of files that the system takes.
const nameRoom = 4096

// appendName appends the name that a file has on the machine, and returns its label.
func (s *fileSource) appendName(dst []byte, i int) (name []byte, label int32) {
	name = append(dst, s.root...)
	path, label := s.files.at(name[len(name):], i) // mostly where it belongs
	if isAbs(path) {
		return append(dst, path...), label
	}
	return append(name, path...), label
}

// SampleName implements [datum.Named]: files of a folder are named by their paths below
// it, without the ending.
func (s *fileSource) SampleName(index int64) string {
	if !s.scanned {
		return ""
	}
	name := s.files.path(int(index))
	return strings.TrimSuffix(name, path.Ext(name))
}

// EntryName implements [datum.Listed]: a file is named by its path as the folder, the list
// or the program has it.
func (s *fileSource) EntryName(index int64) string { return s.files.path(int(index)) }

// Label implements [datum.Labelled].
func (s *fileSource) Label(index int64) (int32, bool) {
	label, _ := s.files.about(int(index))
	return label, s.classes > 0
}

// Describe returns the path of the file.
func (s *fileSource) Describe(index int64) string {
	if s.place != nil {
		return s.root + s.files.path(int(index))
	}
	name, _ := s.appendName(nil, int(index))
	return filepath.FromSlash(string(name))
}
