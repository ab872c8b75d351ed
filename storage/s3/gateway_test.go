package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/s3test"
	"github.com/planktonml/plankton/storage"
)

func options(url, bucket string) Options {
	return Options{
		Bucket: bucket, Endpoint: url, Region: s3test.Region,
		Credentials: static(s3test.AccessKey, s3test.SecretKey),
	}
}

func open(t *testing.T, o Options) *Bucket {
	t.Helper()
	b, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// put writes an object by way of the server, which gives it an entity tag.
func put(t *testing.T, g *s3test.Gateway, bucket, key string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(g.Folder, bucket), 0o755))
	putAt(t, g.URL, bucket, key, data)
}

// putAt makes an object, or without a key a bucket.
func putAt(t *testing.T, address, bucket, key string, data []byte) {
	t.Helper()
	p, err := newPlace(address, bucket, s3test.Region)
	require.NoError(t, err)
	u, region := p.url(key, "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, u.String(), bytes.NewReader(data))
	require.NoError(t, err)
	hash := sha256.Sum256(data)
	s := &signer{Credentials: Credentials{AccessKeyID: s3test.AccessKey, SecretAccessKey: s3test.SecretKey}}
	s.sign(r, hex.EncodeToString(hash[:]), region, "s3", time.Now())
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(r)
	require.NoError(t, err)
	body, _ := io.ReadAll(answer.Body)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s", body)
}

func TestFileSystem(t *testing.T) {
	g := s3test.Start(t)
	names := []string{"a/1.txt", "a/2 of 3.txt", "a/b/c+d&e=f~%.txt", "a-b/x", "é/ü 漢.txt", "z.txt", "a.txt", "a/empty"}
	for _, name := range names {
		g.Put(t, "data", "root/"+name, []byte("content of "+name))
	}
	g.Put(t, "data", "root/a/empty", nil)
	g.Put(t, "data", "rooted/x", nil)
	o := options(g.URL, "data")
	o.Prefix = "root"
	require.NoError(t, fstest.TestFS(open(t, o), names...))

	// As it comes, without a list before.
	for _, name := range names {
		f, err := open(t, o).Open(name)
		require.NoError(t, err)
		data, err := io.ReadAll(f)
		require.NoError(t, err)
		if name == "a/empty" {
			require.Empty(t, data)
			continue
		}
		require.Equal(t, "content of "+name, string(data))
	}
	b := open(t, o)
	_, err := b.Open("nothing")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "s3://data/root/nothing: ")
	info, err := b.Stat("a/b")
	require.NoError(t, err)
	require.True(t, info.IsDir())
	_, err = b.ReadDir("a/1.txt")
	require.Error(t, err)
	o.Prefix = "nowhere"
	_, err = open(t, o).ReadDir(".")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, `no object's key begins with "nowhere/"`)
}

// A walk costs one list for each folder and thousand names, and reading what it found one
// request each; nobody asks for heads.
func TestRequests(t *testing.T) {
	g := s3test.Start(t)
	p := s3test.NewProxy(t, g.URL)
	for i := range 1100 {
		g.Put(t, "data", fmt.Sprintf("many/%04d", i), []byte{byte(i), 1, 2})
	}
	for i := range 10 {
		g.Put(t, "data", fmt.Sprintf("few/%d/x", i), []byte("few"))
	}
	b := open(t, options(p.URL, "data"))
	var names []string
	require.NoError(t, fs.WalkDir(b, ".", func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if !d.IsDir() {
			info, err := d.Info()
			require.NoError(t, err)
			require.EqualValues(t, 3, info.Size())
			names = append(names, path)
		}
		return nil
	}))
	require.Len(t, names, 1110)
	gets, lists, heads := p.Counts()
	require.Equal(t, []int64{0, 1 + 2 + 1 + 10, 0}, []int64{gets, lists, heads})
	for i, name := range names {
		if i%50 == 0 {
			info, err := b.Stat(name)
			require.NoError(t, err)
			require.NoError(t, storage.ReadRange(t.Context(), b, name, 0, make([]byte, info.Size())))
			data, err := b.ReadFile(name)
			require.NoError(t, err)
			require.Len(t, data, 3)
		}
	}
	gets, lists, heads = p.Counts()
	require.Equal(t, []int64{2 * 23, 14, 0}, []int64{gets, lists, heads})
	s := b.Traffic()
	require.Equal(t, gets+lists, s.Requests)
	require.Equal(t, lists, s.Lists)
	require.EqualValues(t, 2*23*3, s.BytesNeeded)
}

// With answers that are late, broken or errors, the bytes are the same.
func TestFaults(t *testing.T) {
	g := s3test.Start(t)
	p := s3test.NewProxy(t, g.URL)
	r := rand.New(rand.NewPCG(1, 2))
	shard := make([]byte, 4<<20)
	for i := range shard {
		shard[i] = byte(r.Uint32())
	}
	put(t, g, "data", "shard", shard)
	p.Set(func(n int64, _ *http.Request) s3test.Fault {
		f := s3test.Fault{Delay: 30 * time.Millisecond}
		switch n % 50 {
		case 10:
			f.Delay = time.Second
		case 20:
			f.Status = 503
		case 30:
			f.Cut = n
		}
		return f
	})
	b := open(t, options(p.URL, "data"))
	_, err := b.ReadDir(".")
	require.NoError(t, err)
	var all sync.WaitGroup
	for worker := range 64 {
		parts := rand.New(rand.NewPCG(3, uint64(worker)))
		all.Go(func() {
			for range 8 {
				off := parts.IntN(len(shard))
				dst := make([]byte, 1+parts.IntN(min(60_000, len(shard)-off)))
				if err := storage.ReadRange(t.Context(), b, "shard", int64(off), dst); err != nil || !bytes.Equal(dst, shard[off:off+len(dst)]) {
					t.Errorf("%d bytes from %d: %v", len(dst), off, err)
				}
			}
		})
	}
	all.Wait()
	s := b.Traffic()
	require.Positive(t, s.Retries)
	require.Positive(t, s.Resumed)
	t.Logf("%+v", s)
}

func TestServerThatComesBack(t *testing.T) {
	g := s3test.Start(t)
	g.Put(t, "data", "x", []byte("hello"))
	b := open(t, options(g.URL, "data"))
	_, err := b.ReadDir(".")
	require.NoError(t, err)
	g.Stop()
	read := make(chan error)
	dst := make([]byte, 5)
	go func() { read <- storage.ReadRange(context.Background(), b, "x", 0, dst) }()
	for b.Traffic().Retries < 3 {
		time.Sleep(10 * time.Millisecond)
	}
	g.Run(t)
	require.NoError(t, <-read)
	require.Equal(t, "hello", string(dst))

	g.Stop() // and one that does not
	o := options(g.URL, "data")
	o.Network.RetryFor = 300 * time.Millisecond
	b = open(t, o)
	_, err = b.ReadDir(".")
	require.ErrorIs(t, err, storage.ErrUnavailable)
	require.ErrorContains(t, err, "connection refused; see that the address is right and the server runs (")
}

func TestWrongCredentialsAndBuckets(t *testing.T) {
	g := s3test.Start(t)
	g.Put(t, "data", "x", []byte("hello"))
	fails := func(o Options, want string) {
		t.Helper()
		_, err := open(t, o).ReadDir(".")
		require.ErrorIs(t, err, storage.ErrUnavailable)
		require.ErrorContains(t, err, want)
	}
	o := options(g.URL, "data")
	o.Credentials = static("nobody", s3test.SecretKey)
	fails(o, "the server does not know the access key nobody (from the test)")
	o.Credentials = static(s3test.AccessKey, "wrong")
	fails(o, "the secret key is not that of the access key tester (from the test) at 127.0.0.1:")
	fails(options(g.URL, "nowhere"), "there is no bucket nowhere at "+g.URL)
	o = options(g.URL, "data")
	o.Credentials, o.Anonymous = nil, true
	_, err := open(t, o).ReadDir(".")
	require.ErrorContains(t, err, "which had no signature")
	require.ErrorIs(t, err, fs.ErrPermission)
}

// An object that is written over while the bucket is open is refused by its entity tag or,
// without one, by its time and size.
func TestChangedObjects(t *testing.T) {
	g := s3test.Start(t)
	g.Put(t, "data", "file", []byte("hello"))
	put(t, g, "data", "object", []byte("hello"))
	put(t, g, "data", "unlisted", []byte("hello"))
	b := open(t, options(g.URL, "data"))
	dst := make([]byte, 5)
	for _, name := range []string{"unlisted", "object", "file"} {
		require.NoError(t, storage.ReadRange(t.Context(), b, name, 0, dst))
	}
	_, err := b.ReadDir(".")
	require.NoError(t, err)
	put(t, g, "data", "object", []byte("HELLO"))
	put(t, g, "data", "unlisted", []byte("HELLO"))
	g.Put(t, "data", "file", []byte("HELLO"))
	later := time.Now().Add(5 * time.Second)
	require.NoError(t, os.Chtimes(filepath.Join(g.Folder, "data", "file"), later, later))
	for range 2 {
		for _, name := range []string{"unlisted", "object", "file"} {
			var changed *storage.ChangedError
			err := storage.ReadRange(t.Context(), b, name, 0, dst)
			require.ErrorAs(t, err, &changed, name)
			require.Equal(t, "s3://data/"+name, changed.Name)
		}
		_, err := b.ReadDir(".") // the new version does not come in by a list
		require.NoError(t, err)
	}
	fresh := open(t, options(g.URL, "data"))
	require.NoError(t, storage.ReadRange(t.Context(), fresh, "object", 0, dst))
	require.Equal(t, "HELLO", string(dst))
}

// Many readers are cancelled at once; all are back, and the bucket goes on.
func TestCancelMany(t *testing.T) {
	g := s3test.Start(t)
	p := s3test.NewProxy(t, g.URL)
	g.Put(t, "data", "x", make([]byte, 1<<20))
	b := open(t, options(p.URL, "data"))
	_, err := b.ReadDir(".")
	require.NoError(t, err)
	for _, delay := range []time.Duration{0, 5 * time.Millisecond, time.Hour} {
		p.Set(func(n int64, _ *http.Request) s3test.Fault { return s3test.Fault{Delay: delay * time.Duration(n%2)} })
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				for ctx.Err() == nil {
					if err := storage.ReadRange(ctx, b, "x", 0, make([]byte, 1<<20)); err != nil {
						require.ErrorIs(t, err, context.Canceled)
					}
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		cancel()
		all.Wait()
	}
	p.Set(func(int64, *http.Request) s3test.Fault { return s3test.Fault{} })
	require.NoError(t, storage.ReadRange(t.Context(), b, "x", 0, make([]byte, 1<<20)))
}

// TestMoto runs against moto, whose address PLANKTON_MOTO is:
//
//	moto_server -p 5000 & PLANKTON_MOTO=http://127.0.0.1:5000 go test ./storage/s3
func TestMoto(t *testing.T) {
	address := os.Getenv("PLANKTON_MOTO")
	if address == "" {
		t.Skip("PLANKTON_MOTO is not set: it is the address of a moto_server, as in http://127.0.0.1:5000")
	}
	bucket := fmt.Sprint("data-", time.Now().UnixNano())
	putAt(t, address, bucket, "", nil)
	names := []string{"a/1.txt", "a/2 of 3.txt", "a/b/c+d&e=f~%.txt", "a-b/x", "é/ü 漢.txt", "z.txt"}
	for _, name := range names {
		putAt(t, address, bucket, "root/"+name, []byte("content of "+name))
	}
	o := options(address, bucket)
	o.Prefix = "root"
	require.NoError(t, fstest.TestFS(open(t, o), names...))
	b := open(t, o)
	_, err := b.ReadDir(".")
	require.NoError(t, err)
	putAt(t, address, bucket, "root/z.txt", []byte("CONTENT of z.txt"))
	require.ErrorAs(t, storage.ReadRange(t.Context(), b, "z.txt", 0, make([]byte, 3)), new(*storage.ChangedError))
	_, err = open(t, options(address, "nowhere")).ReadDir(".")
	require.ErrorContains(t, err, "there is no bucket nowhere")
}
