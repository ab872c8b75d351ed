package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/storage"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("CACHE_TEST_FILL"); dir != "" {
		fill(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// store is a store in memory.
type store struct {
	fstest.MapFS
	version string
	reads   atomic.Int64
	bytes   atomic.Int64
	hook    func(ctx context.Context) error // before a read
}

func (s *store) Version(name string) (string, int64, error) {
	f := s.MapFS[name]
	if f == nil {
		return "", 0, fs.ErrNotExist
	}
	return fmt.Sprintf("here %q %s", "mem://"+name, s.version), int64(len(f.Data)), nil
}

func (s *store) ReadRange(ctx context.Context, name string, off int64, dst []byte) (int, error) {
	if s.hook != nil {
		if err := s.hook(ctx); err != nil {
			return 0, err
		}
	}
	s.reads.Add(1)
	n := copy(dst, s.MapFS[name].Data[min(off, int64(len(s.MapFS[name].Data))):])
	s.bytes.Add(int64(n))
	if n < len(dst) {
		return n, io.ErrUnexpectedEOF
	}
	return n, ctx.Err()
}

// files returns a store of some files of odd sizes.
func files(sizes ...int) *store {
	s := &store{MapFS: fstest.MapFS{}, version: "v1"}
	r := rand.NewChaCha8([32]byte{1})
	for i, size := range sizes {
		data := make([]byte, size)
		_, _ = r.Read(data)
		s.MapFS[fmt.Sprintf("a/%d", i)] = &fstest.MapFile{Data: data}
	}
	return s
}

func open(t *testing.T, s *store, dir string, limit int64, chunk int) *Cache {
	t.Helper()
	c, err := Open(t.Context(), s, Options{Dir: dir, Bytes: limit, Chunk: chunk})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// check reads a range and compares it.
func check(t *testing.T, c *Cache, s *store, name string, off, n int) {
	t.Helper()
	dst := make([]byte, n)
	if err := storage.ReadRange(t.Context(), c, name, int64(off), dst); err != nil || !bytes.Equal(dst, s.MapFS[name].Data[off:off+n]) {
		t.Errorf("%s: %d bytes from %d: %v", name, n, off, err)
	}
}

// size returns the bytes of all chunks that are there.
func size(t *testing.T, dir string) (total int64) {
	t.Helper()
	require.NoError(t, eachChunk(dir, func(_ string, n int64) error { total += n; return nil }))
	return total
}

// Whatever is read by how many, it is the store's, and each byte is fetched once.
func TestFillsOnce(t *testing.T) {
	s := files(1, 1000, 64<<10, 64<<10+1, 300_000, 1<<20)
	dir := filepath.Join(t.TempDir(), "cache")
	c := open(t, s, dir, 1<<30, 128<<10)
	var all sync.WaitGroup
	for worker := range 8 {
		r := rand.New(rand.NewPCG(7, uint64(worker)))
		all.Go(func() {
			for range 50 {
				name := fmt.Sprintf("a/%d", r.IntN(6))
				n := len(s.MapFS[name].Data)
				off := r.IntN(n)
				check(t, c, s, name, off, 1+r.IntN(n-off))
			}
		})
	}
	all.Wait()
	var total int64
	for name, f := range s.MapFS {
		check(t, c, s, name, 0, len(f.Data))
		total += int64(len(f.Data))
	}
	require.Equal(t, total, s.bytes.Load(), "nothing is fetched twice")
	stats := c.Stats()
	require.EqualValues(t, 1+1+1+1+3+8, stats.Stored)
	require.Zero(t, stats.Bad)
	require.Equal(t, size(t, dir), stats.Used)

	s.reads.Store(0)
	require.NoError(t, c.Close())
	c = open(t, s, dir, 1<<30, 128<<10) // as another process would later
	for name, f := range s.MapFS {
		check(t, c, s, name, 0, len(f.Data))
	}
	require.Zero(t, s.reads.Load())

	s.version = "v2" // what is kept is of the old ones
	s.MapFS["a/1"].Data[0]++
	check(t, c, s, "a/1", 0, 1000)
	require.EqualValues(t, 1, s.reads.Load())
}

func TestEndsAndNames(t *testing.T) {
	s := files(100_000)
	c := open(t, s, t.TempDir(), 1<<20, 64<<10)
	dst := make([]byte, 1000)
	for range 2 {
		err := storage.ReadRange(t.Context(), c, "a/0", 99_500, dst)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorContains(t, err, "500 of 1000 bytes")
		require.ErrorIs(t, storage.ReadRange(t.Context(), c, "a/0", 100_000, dst), io.ErrUnexpectedEOF)
		require.ErrorIs(t, storage.ReadRange(t.Context(), c, "none", 0, dst), fs.ErrNotExist)
	}
	require.NoError(t, fstest.TestFS(c, "a/0"))
}

// A cache that is full hits the share of the data that it holds, in every epoch, and never
// holds more than it may.
func TestHitsAreTheShareThatFits(t *testing.T) {
	sizes := make([]int, 100)
	for i := range sizes {
		sizes[i] = 64 << 10
	}
	s := files(sizes...)
	dir := t.TempDir()
	const limit = 49 * (64<<10 + 200)
	c := open(t, s, dir, limit, 64<<10)
	for epoch := range 4 {
		before := c.Stats()
		var all sync.WaitGroup
		for _, i := range rand.New(rand.NewPCG(3, uint64(epoch))).Perm(100) {
			all.Go(func() { check(t, c, s, fmt.Sprintf("a/%d", i), 0, 64<<10) })
		}
		all.Wait()
		after := c.Stats()
		if epoch > 0 {
			require.EqualValues(t, 49, after.Hits-before.Hits)
			require.EqualValues(t, 51, after.Misses-before.Misses)
		}
		require.LessOrEqual(t, size(t, dir), int64(limit))
		require.Equal(t, size(t, dir), after.Used)
	}
	require.EqualValues(t, 49, c.Stats().Stored)
}

// What a disk has lost or mixed up is dropped, fetched again and kept again.
func TestDamage(t *testing.T) {
	faults := map[string]func(path, other string) error{
		"a byte": func(path, _ string) error {
			data, err := os.ReadFile(path)
			data[1234] ^= 1
			return errors.Join(err, os.WriteFile(path, data, 0o600))
		},
		"a checksum": func(path, _ string) error {
			data, err := os.ReadFile(path)
			data[64<<10] ^= 1
			return errors.Join(err, os.WriteFile(path, data, 0o600))
		},
		"the end":        func(path, _ string) error { return os.Truncate(path, 60_000) },
		"all":            func(path, _ string) error { return os.Truncate(path, 0) },
		"another's data": func(path, other string) error { return errors.Join(os.Remove(path), os.Link(other, path)) },
		"a folder":       func(path, _ string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o777)) },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			s := files(64<<10, 64<<10)
			dir := t.TempDir()
			c := open(t, s, dir, 1<<20, 64<<10)
			check(t, c, s, "a/0", 0, 64<<10)
			check(t, c, s, "a/1", 0, 64<<10)
			path := func(name string) string {
				version, _, _ := s.Version(name)
				return c.folder.path(keyOf(version, 64<<10, 0))
			}
			require.NoError(t, fault(path("a/0"), path("a/1")))
			s.reads.Store(0)
			check(t, c, s, "a/0", 0, 64<<10)
			check(t, c, s, "a/0", 0, 64<<10)
			require.EqualValues(t, 1, s.reads.Load())
			require.EqualValues(t, 1, c.Stats().Bad)
			require.EqualValues(t, 3, c.Stats().Stored)
			require.Equal(t, size(t, dir), c.Stats().Used)
		})
	}
}

// A disk that takes no more costs the cache, and no read.
func TestDiskThatCannotBeWritten(t *testing.T) {
	s := files(64<<10, 64<<10)
	dir := t.TempDir()
	c := open(t, s, dir, 1<<20, 64<<10)
	check(t, c, s, "a/0", 0, 64<<10)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, newDir)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, newDir), nil, 0o600))
	for range 3 {
		check(t, c, s, "a/0", 5, 1000)
		check(t, c, s, "a/1", 5, 1000)
	}
	require.EqualValues(t, 1, c.Stats().Stored)
	require.Equal(t, size(t, dir), c.Stats().Used, "the room is given back")
}

// Two that share a folder, as two processes do, keep each chunk once.
func TestShared(t *testing.T) {
	s := files(1<<20, 1<<20, 1<<20)
	dir := t.TempDir()
	const limit = 2<<20 + 1<<19
	a, b := open(t, s, dir, limit, 64<<10), open(t, s, dir, limit, 64<<10)
	var all sync.WaitGroup
	for i, c := range []*Cache{a, b} {
		for worker := range 4 {
			r := rand.New(rand.NewPCG(uint64(i), uint64(worker)))
			all.Go(func() {
				for range 50 {
					off := r.IntN(1 << 20)
					check(t, c, s, fmt.Sprintf("a/%d", r.IntN(3)), off, 1+r.IntN(min(300_000, 1<<20-off)))
				}
			})
		}
	}
	all.Wait()
	require.Equal(t, size(t, dir), a.Stats().Used)
	require.LessOrEqual(t, a.Stats().Used, int64(limit))
	require.ErrorIs(t, Clean(dir), ErrInUse)
	left, err := os.ReadDir(filepath.Join(dir, newDir))
	require.NoError(t, err)
	require.Empty(t, left)
}

// fill reads for ever through a cache in dir.
func fill(dir string) {
	s := files(8 << 20)
	for {
		c, err := Open(context.Background(), s, Options{Dir: dir, Bytes: 6 << 20, Chunk: 64 << 10})
		if err != nil {
			panic(err)
		}
		fmt.Println("filling")
		for off := 0; off < 8<<20; off += 100_000 {
			_, _ = c.ReadRange(context.Background(), "a/0", int64(off), make([]byte, min(100_000, 8<<20-off)))
		}
		_ = c.Close()
		_ = Clean(dir)
	}
}

// Whenever a process is killed, what it leaves is whole, and its room is found again.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	s := files(8 << 20)
	for round := range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CACHE_TEST_FILL="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = io.ReadFull(out, make([]byte, len("filling")))
		require.NoError(t, err)
		time.Sleep(time.Duration(round*11) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()

		c := open(t, s, dir, 6<<20, 64<<10)
		require.Equal(t, size(t, dir), c.Stats().Used)
		left, err := os.ReadDir(filepath.Join(dir, newDir))
		require.NoError(t, err)
		require.Empty(t, left)
		for off := 0; off < 8<<20; off += 1 << 20 {
			check(t, c, s, "a/0", off, 1<<20)
		}
		require.Zero(t, c.Stats().Bad)
		require.NoError(t, c.Close())
		found, err := Check(dir)
		require.NoError(t, err)
		require.Zero(t, found.Bad)
	}
}

// Who waits for another's fetching does not fail with it, and ends with its own context.
func TestCancelledFetches(t *testing.T) {
	s := files(64 << 10)
	began, block := make(chan struct{}, 8), make(chan struct{})
	s.hook = func(ctx context.Context) error {
		began <- struct{}{}
		select {
		case <-block:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c := open(t, s, t.TempDir(), 1<<20, 64<<10)
	read := func(ctx context.Context) chan error {
		result := make(chan error, 1)
		go func() { result <- storage.ReadRange(ctx, c, "a/0", 0, make([]byte, 10)) }()
		return result
	}
	first, cancelFirst := context.WithCancel(t.Context())
	one := read(first)
	<-began
	second, cancelSecond := context.WithCancel(t.Context())
	two := read(second)
	three := read(t.Context())
	cancelSecond()
	require.ErrorIs(t, <-two, context.Canceled)
	cancelFirst()
	require.ErrorIs(t, <-one, context.Canceled)
	<-began // of the third
	close(block)
	require.NoError(t, <-three)
	require.EqualValues(t, 1, c.Stats().Stored)
	require.Empty(t, c.fetched)
}

func TestRefusals(t *testing.T) {
	s := files(1)
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "thesis.txt"), nil, 0o600))
	for want, o := range map[string]Options{
		"Dir is empty":    {Bytes: 1},
		"Bytes is 0":      {Dir: full},
		"Chunk is 100":    {Dir: full, Bytes: 1, Chunk: 100},
		"Chunk is 100000": {Dir: full, Bytes: 1, Chunk: 100_000},
		`there are other things in it, such as "thesis.txt"; give an empty folder`: {Dir: full, Bytes: 1},
	} {
		_, err := Open(t.Context(), s, o)
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, Clean(full), "is no cache")
	_, err := Look(full)
	require.ErrorContains(t, err, "is no cache")
}

func TestLookCheckClean(t *testing.T) {
	s := files(100_000, 200_000)
	s.MapFS["b/x"] = &fstest.MapFile{Data: make([]byte, 10)}
	dir := t.TempDir()
	c := open(t, s, dir, 1<<20, 64<<10)
	for name, f := range s.MapFS {
		check(t, c, s, name, 0, len(f.Data))
	}
	found, err := Look(dir)
	require.NoError(t, err)
	require.EqualValues(t, 2+4+1, found.Chunks)
	require.Equal(t, size(t, dir), found.Bytes)
	require.Len(t, found.Folders, 2)
	require.Equal(t, "mem://a", found.Folders[0].Name)
	require.EqualValues(t, 2, found.Folders[0].Files)
	require.EqualValues(t, 6, found.Folders[0].Chunks)
	require.Equal(t, "mem://b", found.Folders[1].Name)

	version, _, _ := s.Version("a/0")
	path := c.folder.path(keyOf(version, 64<<10, 1))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[7] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))
	found, err = Look(dir)
	require.NoError(t, err)
	require.Zero(t, found.Bad, "the ends alone are looked at")
	found, err = Check(dir)
	require.NoError(t, err)
	require.EqualValues(t, 1, found.Bad)
	require.NoFileExists(t, path)
	require.Equal(t, size(t, dir), c.Stats().Used)

	require.NoError(t, c.Close())
	require.NoError(t, Clean(dir))
	found, err = Look(dir)
	require.NoError(t, err)
	require.Equal(t, &Contents{Folders: []Folder{}}, found)
	c = open(t, s, dir, 1<<20, 64<<10)
	check(t, c, s, "a/0", 0, 100)
}
