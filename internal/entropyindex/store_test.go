package entropyindex

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/internal/jpeg"
)

// pictures returns files of different sizes with random content.
func pictures(t testing.TB, n int, seed uint64) (files [][]byte) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		m := image.NewYCbCr(image.Rect(0, 0, 200+r.IntN(200), 200+r.IntN(200)), image.YCbCrSubsampleRatio420)
		for y := range m.Rect.Dy() {
			for x := range m.Rect.Dx() {
				m.Y[m.YOffset(x, y)] = color.Gray{Y: uint8(x*y/50 + r.IntN(60))}.Y
			}
		}
		var b bytes.Buffer
		require.NoError(t, stdjpeg.Encode(&b, m, &stdjpeg.Options{Quality: 80}))
		files = append(files, b.Bytes())
	}
	return files
}

// user decodes random regions, with and without a store, and compares them.
type user struct {
	r             *rand.Rand
	with, without jpeg.Decoder
	p, q          jpeg.Planes
}

func newUser(seed uint64) *user { return &user{r: rand.New(rand.NewPCG(seed, 2))} }

func (u *user) region(h *jpeg.Header) image.Rectangle {
	w, ht := 1+u.r.IntN(h.Width), 1+u.r.IntN(h.Height)
	return image.Rect(0, 0, w, ht).Add(image.Pt(u.r.IntN(h.Width-w+1), u.r.IntN(h.Height-ht+1)))
}

// compare decodes a region of a sample.
func (u *user) compare(s *Store, sample int64, data []byte) error {
	h, err := u.with.Header(data)
	if err != nil {
		return err
	}
	region := u.region(&h)
	u.with.Skips = s.Skips(sample, data, &h, region)
	err, want := u.with.Planes(&u.p, data, region, 1), u.without.Planes(&u.q, data, region, 1)
	if fmt.Sprint(err) != fmt.Sprint(want) {
		return fmt.Errorf("sample %d, %v: error %v, want %v", sample, region, err, want)
	}
	for i := range u.p.Header.Components {
		a, b := &u.p.Plane[i], &u.q.Plane[i]
		for y := a.Rect.Min.Y; want == nil && y < a.Rect.Max.Y; y++ {
			if !bytes.Equal(a.Row(y), b.Row(y)) {
				return fmt.Errorf("sample %d, %v: row %d of plane %d differs", sample, region, y, i)
			}
		}
	}
	return nil
}

// epochs goes through all files.
func (u *user) epochs(t *testing.T, s *Store, files [][]byte, n int) {
	t.Helper()
	for range n {
		for _, i := range u.r.Perm(len(files)) {
			require.NoError(t, u.compare(s, int64(i), files[i]))
		}
	}
}

const plenty = 1 << 24

func TestStoreKeepsSkips(t *testing.T) {
	files := pictures(t, 10, 1)
	s := New(10, NewRoom(plenty))
	newUser(1).epochs(t, s, files, 4)
	st := s.Stats()
	require.EqualValues(t, 10, st.Pictures)
	require.Positive(t, st.Hits)
	require.EqualValues(t, st.Lookups-10, st.Hits)
	require.Greater(t, st.Bytes, int64(10*60*8))
}

// TestChangedFile gives a sample other bytes, also such that most are the same.
func TestChangedFile(t *testing.T) {
	files, others := pictures(t, 4, 1), pictures(t, 4, 2)
	s, u := New(4, NewRoom(plenty)), newUser(2)
	u.epochs(t, s, files, 3)
	u.epochs(t, s, others, 3)
	for i := range files {
		files[i] = bytes.Clone(files[i])
		files[i][len(files[i])/2] ^= 1 // an error, or other pixels from there on
	}
	u.epochs(t, s, files, 6)
	require.EqualValues(t, 4, s.Stats().Pictures)
}

func TestRoomIsABound(t *testing.T) {
	files := pictures(t, 12, 3)
	for _, limit := range []int64{0, 100, 5000, 20000, 60000} {
		room := NewRoom(limit)
		a, b, u := New(6, room), New(6, room), newUser(3)
		for range 3 {
			u.epochs(t, a, files[:6], 1)
			u.epochs(t, b, files[6:], 1)
			require.LessOrEqual(t, a.Stats().Bytes+b.Stats().Bytes, limit)
		}
		if limit >= 20000 { // so that all have the beginnings of their rows
			require.EqualValues(t, 12, a.Stats().Pictures+b.Stats().Pictures)
		}
	}
}

func TestStoreAllocatesNothingOnceWarm(t *testing.T) {
	files := pictures(t, 4, 4)
	path := filepath.Join(t.TempDir(), "index")
	for _, name := range []string{"memory", "file"} {
		s := New(4, NewRoom(plenty))
		if name == "file" {
			var err error
			s, err = Open(path, 4, 1, NewRoom(plenty))
			require.NoError(t, err)
			newUser(4).epochs(t, s, files, 6)
			require.NoError(t, s.Save())
			s, err = Open(path, 4, 1, NewRoom(plenty))
			require.NoError(t, err)
		}
		newUser(4).epochs(t, s, files, 6)
		var d jpeg.Decoder
		h, err := d.Header(files[0])
		require.NoError(t, err)
		region := image.Rect(50, 50, 100, 100)
		alloctest.None(t, 100, func() {
			if len(s.Skips(0, files[0], &h, region).Entries) == 0 {
				t.Error("no skips")
			}
		}, name)
	}
}

// TestWorkersShareAStore has workers and stores of several processes at the same pictures,
// with so little room that records come and go.
func TestWorkersShareAStore(t *testing.T) {
	files := pictures(t, 8, 5)
	for _, limit := range []int64{5000, 25000, plenty} {
		path := filepath.Join(t.TempDir(), "index")
		var stores []*Store
		for range 2 {
			s, err := Open(path, 8, 1, NewRoom(limit))
			require.NoError(t, err)
			stores = append(stores, s)
		}
		stores = append(stores, New(8, NewRoom(limit)))
		var wg sync.WaitGroup
		for w := range 6 {
			u := newUser(uint64(w))
			wg.Go(func() {
				for range 6 {
					for _, i := range u.r.Perm(len(files)) {
						if err := u.compare(stores[w%3], int64(i), files[i]); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		for _, s := range stores {
			require.NoError(t, s.Save())
			require.NoError(t, s.Stats().Err)
		}
		s, err := Open(path, 8, 1, NewRoom(plenty))
		require.NoError(t, err)
		if limit > 5000 {
			require.EqualValues(t, 8, s.Stats().FilePictures)
		}
		newUser(7).epochs(t, s, files, 2)
	}
}

// TestFileServesTheFirstEpoch opens a file that another store has written.
func TestFileServesTheFirstEpoch(t *testing.T) {
	files := pictures(t, 6, 6)
	path := filepath.Join(t.TempDir(), "index")
	s, err := Open(path, 6, 9, NewRoom(plenty))
	require.NoError(t, err)
	newUser(1).epochs(t, s, files, 8)
	require.NoError(t, s.Save())

	next, err := Open(path, 6, 9, NewRoom(plenty))
	require.NoError(t, err)
	require.EqualValues(t, 6, next.Stats().FilePictures)
	newUser(2).epochs(t, next, files, 1)
	st := next.Stats()
	require.Positive(t, st.Lookups)
	require.Equal(t, st.Lookups, st.Hits)

	_, err = Open(path, 6, 9, NewRoom(40))
	require.ErrorContains(t, err, "give it more")
	_, err = Open(path, 7, 9, NewRoom(plenty))
	require.ErrorContains(t, err, "other data")
	_, err = Open(path, 6, 8, NewRoom(plenty))
	require.ErrorContains(t, err, "other data")
	require.NoError(t, os.WriteFile(path, make([]byte, 1000), 0o666))
	_, err = Open(path, 6, 9, NewRoom(plenty))
	require.ErrorContains(t, err, "no entropy index")
}

// TestFileThatACrashHasLeft cuts a file short, or spoils words of it: what is read is what
// was written, or nothing, and what is written then can be read.
func TestFileThatACrashHasLeft(t *testing.T) {
	files := pictures(t, 6, 7)
	path := filepath.Join(t.TempDir(), "index")
	s, err := Open(path, 6, 9, NewRoom(plenty))
	require.NoError(t, err)
	u := newUser(1)
	for range 3 { // segments
		u.epochs(t, s, files, 1)
		require.NoError(t, s.Save())
	}
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := range 40 {
		left := bytes.Clone(whole)
		switch i % 3 {
		case 0:
			left = left[:align+u.r.IntN(len(left)-align)]
		case 1:
			for range 3 {
				left[align+u.r.IntN(len(left)-align)] ^= byte(1 + u.r.IntN(255))
			}
		default:
			at := align + u.r.IntN(len(left)-align)
			clear(left[at:min(at+4096, len(left))])
		}
		require.NoError(t, os.WriteFile(path, left, 0o666))
		s, err := Open(path, 6, 9, NewRoom(plenty))
		require.NoError(t, err)
		u.epochs(t, s, files, 2)
		require.NoError(t, s.Save())
		s, err = Open(path, 6, 9, NewRoom(plenty))
		require.NoError(t, err)
		u.epochs(t, s, files, 1)
	}
}

// TestFileThatCannotBeWritten goes on in memory, and says why.
func TestFileThatCannotBeWritten(t *testing.T) {
	files := pictures(t, 4, 8)
	path := filepath.Join(t.TempDir(), "missing", "index")
	s, err := Open(path, 4, 9, NewRoom(plenty))
	require.NoError(t, err)
	newUser(1).epochs(t, s, files, 3)
	require.ErrorContains(t, s.Save(), "missing")
	require.Positive(t, s.Stats().Hits)
	require.ErrorContains(t, s.Stats().Err, "cannot be written")
}

// BenchmarkSum is what a lookup costs.
func BenchmarkSum(b *testing.B) {
	data := make([]byte, 110<<10)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		sumOf(data)
	}
}

// TestFileTakesMemoryThatIsFilledLater asks for records until there is no more room, before any
// of them has an entry: they go to the file when they have some, and others take their place.
func TestFileTakesMemoryThatIsFilledLater(t *testing.T) {
	files := pictures(t, 40, 9)
	path := filepath.Join(t.TempDir(), "index")
	s, err := Open(path, 40, 9, NewRoom(6000))
	require.NoError(t, err)
	var d jpeg.Decoder
	given := 0
	for i, data := range files {
		h, err := d.Header(data)
		require.NoError(t, err)
		if len(s.Fill(int64(i), data, &h, image.Rect(0, 0, h.Width, h.Height)).Entries) > 0 {
			given++
		}
	}
	require.Positive(t, given)
	require.Less(t, given, 20)
	newUser(9).epochs(t, s, files, 12)
	require.NoError(t, s.Save())
	require.EqualValues(t, 40, s.Stats().FilePictures)
	require.LessOrEqual(t, s.Stats().Bytes, int64(6000))
}

// TestFileWithLittleRoom refuses room that the lists of the samples take up, or nearly, and
// reads a file that there is all the same.
func TestFileWithLittleRoom(t *testing.T) {
	const samples = 2000
	files := pictures(t, 6, 10)
	path := filepath.Join(t.TempDir(), "index")
	lists := int64(8*samples + (8+256*8)*8)
	for _, limit := range []int64{8*samples + 3000, lists - 1, lists + 3000} {
		_, err := Open(path, samples, 9, NewRoom(limit))
		require.ErrorContains(t, err, "give it more", limit)
		require.NoFileExists(t, path)
	}
	s, err := Open(path, samples, 9, NewRoom(lists*8/7+8))
	require.NoError(t, err)
	newUser(10).epochs(t, s, files, 8)
	require.NoError(t, s.Save())
	require.EqualValues(t, 6, s.Stats().FilePictures)

	s, err = Open(path, samples, 9, NewRoom(8*samples+3000))
	require.NoError(t, err)
	newUser(11).epochs(t, s, append(files, pictures(t, 2, 11)...), 2)
	require.ErrorContains(t, s.Save(), "only read")
	st := s.Stats()
	require.EqualValues(t, 6, st.FilePictures)
	require.Positive(t, st.Hits)
	require.Zero(t, st.Pictures)
	require.ErrorContains(t, st.Err, "give it more")
}

// TestShortFileOfAnotherKind leaves alone what is shorter than a header and not the beginning
// of one.
func TestShortFileOfAnotherKind(t *testing.T) {
	files := pictures(t, 2, 12)
	path := filepath.Join(t.TempDir(), "index")
	s, err := Open(path, 2, 9, NewRoom(plenty))
	require.NoError(t, err)
	for _, other := range []string{"n", "notes of mine\n", string(make([]byte, 31))} {
		require.NoError(t, os.WriteFile(path, []byte(other), 0o666))
		_, err := Open(path, 2, 9, NewRoom(plenty))
		require.ErrorContains(t, err, "no entropy index")
	}
	require.ErrorContains(t, s.Save(), "no entropy index") // it has come since the store was opened
	left, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 31), left)

	head := bytesOf(s.file.header())
	for n := range len(head) { // what a crash has left
		require.NoError(t, os.WriteFile(path, head[:n], 0o666))
		s, err := Open(path, 2, 9, NewRoom(plenty))
		require.NoError(t, err)
		newUser(13).epochs(t, s, files, 4)
		require.NoError(t, s.Save())
		require.EqualValues(t, 2, s.Stats().FilePictures)
	}
}

// TestFileThatIsRemoved takes the file away from a store that has read some of it: what there
// was is still used, and a new file in its place is left to others.
func TestFileThatIsRemoved(t *testing.T) {
	files, more := pictures(t, 3, 14), pictures(t, 3, 15)
	path := filepath.Join(t.TempDir(), "index")
	s, err := Open(path, 3, 9, NewRoom(plenty))
	require.NoError(t, err)
	newUser(14).epochs(t, s, files, 6)
	require.NoError(t, s.Save())
	require.NoError(t, os.Remove(path))
	newUser(14).epochs(t, s, files, 2)

	other, err := Open(path, 3, 9, NewRoom(plenty))
	require.NoError(t, err)
	newUser(15).epochs(t, other, files, 6)
	require.NoError(t, other.Save())
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	for range 2 {
		newUser(16).epochs(t, s, more, 4)
		require.ErrorContains(t, s.Save(), "was removed or replaced")
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
