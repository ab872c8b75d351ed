package readers

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/index"
)

// picture is what the shards of these tests hold as picture i.
func picture(i int) string { return strings.Repeat(fmt.Sprintf("picture %d ", i), 1+i*37%200) }

// shardsOf returns n samples as files, as tar archives of three and as TFRecords of three.
func shardsOf(t testing.TB, n int) (folder, tars, records map[string]string) {
	t.Helper()
	folder, tars, records = map[string]string{}, map[string]string{}, map[string]string{}
	for from := 0; from < n; from += 3 {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		var file []byte
		for i := from; i < min(from+3, n); i++ {
			name := fmt.Sprintf("%03d", i)
			folder[name+".jpg"] = picture(i)
			for _, member := range [][2]string{{"jpg", picture(i)}, {"cls", fmt.Sprint(i % 4)}} {
				require.NoError(t, w.WriteHeader(&tar.Header{Name: name + "." + member[0], Size: int64(len(member[1])), Mode: 0o644}))
				_, err := io.WriteString(w, member[1])
				require.NoError(t, err)
			}
			file = index.AppendRecord(file, index.ExamplePieces(
				index.Feature{Key: "image/encoded", Bytes: []byte(picture(i))},
				index.Feature{Key: "image/class/label", Int64s: []int64{int64(i % 4)}},
				index.Feature{Key: "ids", Int64s: []int64{int64(i), -1}},
			)...)
		}
		require.NoError(t, w.Close())
		tars[fmt.Sprintf("s-%03d.tar", from/3)] = archive.String()
		records[fmt.Sprintf("s-%03d.tfrecord", from/3)] = string(file)
	}
	return folder, tars, records
}

// shards reads the usual member.
func shards(o ShardsOptions) func(*pipeline.Graph) []pipeline.Value {
	return func(g *pipeline.Graph) []pipeline.Value {
		members, label := Shards(g, o)
		if label == (pipeline.Value{}) {
			return members
		}
		return append(members, label)
	}
}

// placesOf returns a folder of files as places of every kind.
func placesOf(t *testing.T, files map[string]string) map[string]fs.FS {
	dir := tree(t, files)
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	memory := fstest.MapFS{}
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for name, content := range files {
		memory[name] = &fstest.MapFile{Data: []byte(content)}
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = io.WriteString(w, content)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	archive, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	require.NoError(t, err)
	return map[string]fs.FS{"machine": nil, "DirFS": os.DirFS(dir), "Root": root.FS(), "memory": memory, "zip": archive, "ranges": ranged{memory}}
}

// ranged is a place that is asked for ranges.
type ranged struct{ fstest.MapFS }

func (r ranged) ReadRange(_ context.Context, name string, off int64, dst []byte) (int, error) {
	f := r.MapFS[name]
	if f == nil {
		return 0, fs.ErrNotExist
	}
	return bytes.NewReader(f.Data).ReadAt(dst, off)
}

// The same samples come from everywhere.
func TestShardsReadTheSameFromEverywhere(t *testing.T) {
	const n = 8
	folder, tars, records := shardsOf(t, n)
	for format, files := range map[string]map[string]string{"folder": folder, "tar": tars, "tfrecord": records} {
		dir := tree(t, files)
		for kind, place := range placesOf(t, files) {
			t.Run(format+" "+kind, func(t *testing.T) {
				root := ""
				if place == nil {
					root = dir
				}
				read := shards(ShardsOptions{FS: place, Root: root})
				if format == "folder" {
					read = file(FileOptions{FS: place, Root: root})
				}
				p, err := build(3, 2, read)
				require.NoError(t, err)
				require.EqualValues(t, n, p.Readers()[0].Len())
				seen := 0
				require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
					for row, id := range b.IDs() {
						require.Equal(t, picture(int(id)), string(b.Sample("0", row).Bytes()))
						if format != "folder" {
							require.Equal(t, int32(id%4), b.Sample("1", row).Int32s()[0])
						}
						seen++
					}
				}))
				require.GreaterOrEqual(t, seen, n)
			})
		}
	}
}

// A source says where its shards end.
func TestShardsEnds(t *testing.T) {
	_, tars, _ := shardsOf(t, 8)
	src, err := newShardsSource(&ShardsOptions{Root: tree(t, tars), Members: []string{"jpg"}})
	require.NoError(t, err)
	require.Equal(t, []int64{3, 6, 8}, src.ShardEnds())
}

func TestShardsAllocateNothing(t *testing.T) {
	_, tars, records := shardsOf(t, 8)
	for format, files := range map[string]map[string]string{"tar": tars, "tfrecord": records} {
		t.Run(format, func(t *testing.T) {
			s, err := newShardsSource(&ShardsOptions{Root: tree(t, files), Members: DefaultMembers()})
			require.NoError(t, err)
			requireNoAllocations(t, s)
		})
	}
	t.Run("members of a record", func(t *testing.T) {
		s, err := newShardsSource(&ShardsOptions{Root: tree(t, records), Members: []string{"ids", "image/encoded"}})
		require.NoError(t, err)
		requireNoAllocations(t, s)
	})
}

func TestShardsMembers(t *testing.T) {
	_, tars, records := shardsOf(t, 4)
	p, err := build(4, 1, shards(ShardsOptions{Root: tree(t, records), Members: []string{"ids", "x;image/encoded"}}))
	require.NoError(t, err)
	require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
		require.Equal(t, []int64{3, -1}, datum.View[int64](b.Sample("0", 3).Bytes()))
		require.Equal(t, picture(3), string(b.Sample("1", 3).Bytes()))
	}))
	p, err = build(4, 1, shards(ShardsOptions{Root: tree(t, tars), Files: []string{"s-001.tar"}, Members: []string{"cls", "jpg"}}))
	require.NoError(t, err)
	require.EqualValues(t, 1, p.Readers()[0].Len())
	require.Equal(t, 4, p.Readers()[0].Source.Outputs()[2].Classes)
	require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
		require.Equal(t, "3", string(b.Sample("0", 0).Bytes()))
	}))
	s := p.Readers()[0].Source
	require.True(t, strings.HasSuffix(s.Describe(0), string(filepath.Separator)+"s-001.tar: 003"), s.Describe(0))
	require.Equal(t, "003", s.(datum.Named).SampleName(0))
	label, ok := s.(datum.Labelled).Label(0)
	require.True(t, ok)
	require.EqualValues(t, 3, label)
}

func TestShardsThatAreRefused(t *testing.T) {
	_, tars, _ := shardsOf(t, 4)
	dir := tree(t, tars)
	for want, o := range map[string]ShardsOptions{
		"readers.Shards: neither Root nor FS is given":                       {},
		"holds no shards; give a folder of .tar or .tfrecord files":          {Root: t.TempDir()},
		`no sample has a member "png"; there are jpg, cls; name one of them`: {Root: dir, Members: []string{"png"}},
		"label 3 is out of range: with 3 classes":                            {Root: dir, Classes: 3},
		"an index has the names":                                             {Root: dir, Files: []string{"a"}, Index: &index.Index{}},
		"Root " + dir + "x: no such file":                                    {Root: dir + "x"},
	} {
		if strings.HasPrefix(want, "an index") {
			want = "both Files and an Index are given"
		}
		require.ErrorContains(t, buildError(t, shards(o)), want)
	}
}

// A bad sample is named and is the only one that fails.
func TestShardsBadSamples(t *testing.T) {
	_, tars, records := shardsOf(t, 4)
	record := []byte(records["s-000.tfrecord"])
	record[len(record)-100] ^= 1 // in the last picture
	records["s-000.tfrecord"] = string(record)
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range []string{"a.txt", "a.cls", "b.jpg", "b.txt"} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: 1, Mode: 0o644}))
		_, err := w.Write([]byte("1"))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	tars["x.tar"] = archive.String()
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"tfrecord", records, []string{"s-000.tfrecord: sample 2: reader: the checksum of the record is wrong: its bytes are damaged; copy or write the file again"}},
		{"tar", tars, []string{"x.tar: a: reader: the sample has no member jpg;jpeg", "x.tar: b: reader: the sample has no label"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var failed []string
			p, err := pipeline.New(pipeline.Options{
				BatchSize: 8, Workers: 1, OnError: pipeline.Skip, OnSampleError: func(e *pipeline.SampleError) { failed = append(failed, e.Error()) },
			}, func(g *pipeline.Graph) { g.Output("x", shards(ShardsOptions{Root: tree(t, c.files)})(g)[0]) })
			require.NoError(t, err)
			require.NoError(t, epoch(t, p, func(*pipeline.Batch) {}))
			require.GreaterOrEqual(t, len(failed), len(c.want))
			for i, want := range c.want {
				require.Contains(t, failed[i], want)
			}
		})
	}
}

// A shard that was cut off after its index was made fails the samples that are gone.
func TestShardsThatShrink(t *testing.T) {
	_, tars, _ := shardsOf(t, 3)
	dir := tree(t, tars)
	s, err := newShardsSource(&ShardsOptions{Root: dir, Members: DefaultMembers()})
	require.NoError(t, err)
	require.NoError(t, os.Truncate(filepath.Join(dir, "s-000.tar"), 2100))
	withTensors(t, s, func(out []*datum.Tensor) error {
		require.NoError(t, s.Read(t.Context(), 0, out))
		err := s.Read(t.Context(), 2, out)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorContains(t, err, "s-000.tar: ")
		return nil
	})
}

func TestShardsPlacesOfOneFolder(t *testing.T) {
	_, tars, _ := shardsOf(t, 4)
	place := fstest.MapFS{}
	for name, content := range tars {
		place["train/"+name] = &fstest.MapFile{Data: []byte(content)}
	}
	s, err := newShardsSource(&ShardsOptions{FS: place, Root: "train", Members: DefaultMembers()})
	require.NoError(t, err)
	require.Equal(t, "train/s-001.tar: 003", s.Describe(3))
	_, remote := s.place.(*storage.Kept)
	require.True(t, remote)
}

// An index knows the bytes of members, for samplers and groups.
func TestColumnsOfShards(t *testing.T) {
	_, tars, records := shardsOf(t, 7)
	for member, files := range map[string]map[string]string{"jpg": tars, "image/encoded": records} {
		src, err := newShardsSource(&ShardsOptions{Root: tree(t, files), Members: []string{member}})
		require.NoError(t, err)
		column, err := src.Column(t.Context(), member)
		require.NoError(t, err)
		for i := range src.Len() {
			require.EqualValues(t, len(picture(int(i))), column[i])
		}
		_, err = src.Column(t.Context(), "webp")
		require.ErrorContains(t, err, `no sample has a member "webp"; there are`)
	}
}
