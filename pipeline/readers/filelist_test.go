package readers

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
)

// listed is a file as the oracle of these tests has it.
type listed struct {
	path  string
	label int32
	size  int64
}

// requireListed demands that a list holds the files, whichever way it is read.
func requireListed(t require.TestingT, want []listed, l *fileList) {
	require.Equal(t, len(want), l.len())
	classes := 0
	c := l.from(0)
	for i, f := range want {
		path, label := l.at(nil, i)
		alone, size := l.about(i)
		require.Equal(t, f, listed{string(path), label, size}, i)
		require.Equal(t, f.label, alone, i)
		require.Equal(t, f.path, l.path(i), i)
		require.True(t, c.next(), i)
		require.Equal(t, f, listed{string(c.path), c.label, c.size}, i)
		classes = max(classes, int(f.label)+1)
	}
	require.False(t, c.next())
	require.Equal(t, classes, l.classes())
}

// anyPath draws paths that begin alike, with nothing alike, with bytes that are no UTF-8, and
// very long ones.
func anyPath() *rapid.Generator[string] {
	begin := rapid.SampledFrom([]string{"", "a", "class/picture_", "class/pictures/", "ä/\xff", strings.Repeat("long/", 60), strings.Repeat("x", 5000)})
	end := rapid.StringMatching(`[ab\x01\x7f\xc3\xa4/0-9]{0,12}(\.jpg)?`)
	return rapid.Custom(func(t *rapid.T) string {
		path := begin.Draw(t, "begin") + end.Draw(t, "end")
		if path == "" {
			return "x"
		}
		return path
	})
}

func anyListed(sized bool) *rapid.Generator[listed] {
	return rapid.Custom(func(t *rapid.T) listed {
		f := listed{anyPath().Draw(t, "path"), rapid.SampledFrom([]int32{0, 0, 0, 1, 127, 128, 1000, math.MaxInt32}).Draw(t, "label"), -1}
		if sized {
			f.size = rapid.SampledFrom([]int64{0, 1, 100_000, math.MaxInt64, -1}).Draw(t, "size")
		}
		return f
	})
}

// A list gives back what was added, in that order.
func TestListHoldsFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := fileList{sized: rapid.Bool().Draw(t, "sized")}
		want := rapid.SliceOf(anyListed(l.sized)).Draw(t, "files")
		if rapid.Bool().Draw(t, "room") {
			l.grow(len(want), 0)
		}
		for _, f := range want {
			l.add([]byte(f.path), f.label, f.size)
		}
		requireListed(t, want, &l)
	})
}

// Files come in the order of the bytes of their paths, whatever these have in common and
// however many parts they were sorted in.
func TestFilesAreSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sized := rapid.Bool().Draw(t, "sized")
		var want []listed
		var lists []fileList
		for _, part := range rapid.SliceOfN(rapid.SliceOfN(anyListed(sized), 1, 40), 1, 5).Draw(t, "parts") {
			s := fileSorter{sized: sized, rooms: &sync.Pool{New: func() any { return new(sortRoom) }}}
			for _, f := range part {
				f.label, f.size = 3, max(f.size, int64(len(f.path))*int64(len(f.path))) // files of one path have one size
				if !sized {
					f.size = -1
				}
				cut := strings.LastIndexByte(f.path, '/') + 1
				s.add(f.path[:cut], []byte(f.path[cut:]), f.size)
				want = append(want, f)
			}
			s.finish()
			require.Equal(t, len(part), s.len())
			lists = append(lists, s.lists...)
		}
		order := func(a, b listed) int {
			return cmp.Or(strings.Compare(a.path, b.path), cmp.Compare(a.size, b.size))
		}
		slices.SortFunc(want, order)
		l := fileList{sized: sized}
		l.addSorted(lists, 3)
		var got []listed
		for c := l.from(0); c.next(); {
			got = append(got, listed{string(c.path), c.label, c.size})
		}
		require.True(t, slices.IsSortedFunc(got, func(a, b listed) int { return strings.Compare(a.path, b.path) }))
		slices.SortFunc(got, order)
		require.Equal(t, want, got)
		requireListed(t, got, sortedList(got, sized))
	})
}

func sortedList(files []listed, sized bool) *fileList {
	l := &fileList{sized: sized}
	for _, f := range files {
		l.add([]byte(f.path), f.label, f.size)
	}
	return l
}

// Many files are sorted in parts, one beside the next.
func TestManyFilesAreSorted(t *testing.T) {
	for _, n := range []int{sortFiles - 1, sortFiles, sortFiles + 1, 5*sortFiles + 7} {
		s := fileSorter{rooms: &sync.Pool{New: func() any { return new(sortRoom) }}}
		for i := range n {
			s.add("d/", fmt.Appendf(nil, "%d.jpg", i*7919%n), 0)
		}
		s.finish()
		require.Equal(t, (n+sortFiles-1)/sortFiles, len(s.lists))
		var l fileList
		l.grow(s.len(), s.bytes())
		room := cap(l.blob)
		s.take(&l, 5)
		require.Equal(t, room, cap(l.blob), "grow left too little room")
		want := make([]string, n)
		for i := range want {
			want[i] = fmt.Sprintf("d/%d.jpg", i)
		}
		slices.Sort(want)
		c := l.from(0)
		for _, path := range want {
			require.True(t, c.next())
			if string(c.path) != path || c.label != 5 {
				t.Fatalf("%s %d; want %s", c.path, c.label, path)
			}
		}
		require.False(t, c.next())
	}
}

// Long paths are sorted in smaller parts.
func TestFilesWithLongPathsAreSorted(t *testing.T) {
	s := fileSorter{rooms: &sync.Pool{New: func() any { return new(sortRoom) }}}
	long := strings.Repeat("x", 4000) + "/"
	for i := range 600 {
		s.add(long, fmt.Appendf(nil, "%d.jpg", i), 0)
	}
	s.finish()
	require.Len(t, s.lists, 3)
	var l fileList
	s.take(&l, 0)
	require.Equal(t, long+"0.jpg", l.path(0))
	require.Equal(t, long+"99.jpg", l.path(599))
}

// A million files of a data set like ImageNet take 12 bytes each, or less.
func TestListIsSmall(t *testing.T) {
	l, n := classFolders(100, 1000)
	require.Less(t, len(l.blob)+8*len(l.blocks), 12*n)
}

// classFolders returns a list of files with names like those of ImageNet.
func classFolders(classes, each int) (l *fileList, n int) {
	l = new(fileList)
	for c := range classes {
		names := make([]string, each)
		for i := range names {
			names[i] = fmt.Sprintf("n%08d/n%08d_%d.JPEG", 1440764+8191*c, 1440764+8191*c, i*7919%30011)
		}
		slices.Sort(names)
		for _, name := range names {
			l.add([]byte(name), int32(c), -1)
		}
	}
	return l, classes * each
}

func TestFindingAFileAllocatesNothing(t *testing.T) {
	l, _ := classFolders(3, 100)
	alloctest.None(t, 100, func() {
		var room [64]byte
		path, label := l.at(room[:], 263)
		if len(path) == 0 || label != 2 {
			t.Error("another file was found")
		}
		l.about(263)
	})
}

func FuzzFileList(f *testing.F) {
	f.Add([]byte("a.jpg\nb.jpg\nbb.jpg"), byte(1))
	f.Add([]byte(strings.Repeat("x\n", 40)), byte(0))
	f.Add([]byte("class/1\nclass/10\nclass/1\x00\n\xff"), byte(7))
	f.Fuzz(func(t *testing.T, text []byte, labels byte) {
		var want []listed
		s := fileSorter{rooms: &sync.Pool{New: func() any { return new(sortRoom) }}}
		for i, path := range bytes.Split(text, []byte("\n")) {
			want = append(want, listed{string(path), int32(i*int(labels)) % 300, -1})
			s.add("", path, 0)
		}
		requireListed(t, want, sortedList(want, false))
		s.finish()
		var sorted fileList
		s.take(&sorted, 0)
		slices.SortStableFunc(want, func(a, b listed) int { return strings.Compare(a.path, b.path) })
		for i := range want {
			want[i].label = 0
		}
		requireListed(t, want, &sorted)
	})
}

func BenchmarkFindFile(b *testing.B) {
	l, n := classFolders(100, 1000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		var room [256]byte
		l.at(room[:], i*7919%n)
	}
	b.ReportMetric(float64(len(l.blob)+8*len(l.blocks))/float64(n), "bytes/file")
}
