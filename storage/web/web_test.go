package web

import (
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site serves a folder and counts requests by method.
func site(t *testing.T) (url, dir string, gets *atomic.Int64) {
	t.Helper()
	dir = t.TempDir()
	gets = new(atomic.Int64)
	files := http.FileServer(http.Dir(dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("method %s", r.Method)
		}
		gets.Add(1)
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, dir, gets
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func open(t *testing.T, o Options) *Site {
	t.Helper()
	s, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestFileSystem(t *testing.T) {
	url, dir, gets := site(t)
	names := []string{"1.tar", "b/2.tar", "b/c/3 4.tar", "empty"}
	var urls []string
	for _, name := range names {
		text := "content of " + name
		if name == "empty" {
			text = ""
		}
		write(t, dir, "x/"+name, text)
		urls = append(urls, url+"/x/"+strings.ReplaceAll(name, " ", "%20"))
	}
	require.NoError(t, fstest.TestFS(open(t, Options{URLs: urls}), names...))

	s := open(t, Options{URLs: urls})
	gets.Store(0)
	require.NoError(t, fs.WalkDir(s, ".", func(_ string, _ fs.DirEntry, err error) error { return err }))
	require.Zero(t, gets.Load(), "the list is here")
	dst := make([]byte, 7)
	require.NoError(t, storage.ReadRange(t.Context(), s, "b/2.tar", 0, dst))
	require.Equal(t, "content", string(dst))
	require.EqualValues(t, 1, gets.Load())
	_, err := s.Open("b/none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, gets.Load(), s.Traffic().Requests)
}

func TestNamesOfAddresses(t *testing.T) {
	names := func(urls ...string) []string {
		t.Helper()
		var got []string
		require.NoError(t, fs.WalkDir(open(t, Options{URLs: urls}), ".", func(path string, d fs.DirEntry, err error) error {
			if !d.IsDir() {
				got = append(got, path)
			}
			return err
		}))
		return got
	}
	require.Equal(t, []string{"1.tar"}, names("https://a.example/x/1.tar?signature=secret"))
	require.Equal(t, []string{"1.tar", "y/2.tar"}, names("https://a.example/x/1.tar", "https://a.example/x/y/2.tar"))
	require.Equal(t, []string{"1.tar", "12.tar"}, names("https://a.example/x/12.tar", "https://a.example/x/1.tar"))
	require.Equal(t, []string{"a.example/1", "b.example/1"}, names("https://a.example/1", "https://b.example/1"))
	for want, urls := range map[string][]string{
		"URLs is empty":                              nil,
		`"ftp://x/1" is no address`:                  {"ftp://x/1"},
		"names no file":                              {"https://a.example/x/"},
		"is there twice":                             {"https://a.example/x?1", "https://a.example/x?2"},
		"https://a.example/x is a file and a folder": {"https://a.example/x?secret", "https://a.example/x/y"},
	} {
		_, err := Open(t.Context(), Options{URLs: urls})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestList(t *testing.T) {
	url, dir, _ := site(t)
	write(t, dir, "d/list.txt", "\uFEFF# shards\n\nhttps://a.example/1.tar\nb/2.tar\r\n/3.tar\n")
	got, err := Fetch(t.Context(), url+"/d/list.txt", Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"https://a.example/1.tar", url + "/d/b/2.tar", url + "/3.tar"}, got)
	write(t, dir, "bad", "x\nfile:///etc/passwd\n")
	_, err = Fetch(t.Context(), url+"/bad", Options{})
	require.ErrorContains(t, err, `line 2 is "file:///etc/passwd"; want an address`)
	write(t, dir, "none", "# nothing\n")
	_, err = Fetch(t.Context(), url+"/none", Options{})
	require.ErrorContains(t, err, "the list names no files")
	_, err = Fetch(t.Context(), url+"/away", Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Fetch(t.Context(), "list.txt", Options{})
	require.ErrorContains(t, err, "is no address")
}

// Headers may be secrets: another host that a server sends to does not get them.
func TestRedirects(t *testing.T) {
	var got atomic.Pointer[http.Header] // the handler runs beside the test
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store(&r.Header)
		http.ServeContent(w, r, "x", time.Unix(1, 0), strings.NewReader("hello world"))
	}))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-Token") != "secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/x":
			http.Redirect(w, r, "/y", http.StatusFound)
		case r.URL.Path == "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		default:
			http.Redirect(w, r, other.URL+"/z?signed", http.StatusTemporaryRedirect)
		}
	}))
	defer s.Close()
	header := http.Header{"X-Token": {"secret"}, "Authorization": {"Bearer secret"}}
	b := open(t, Options{URLs: []string{s.URL + "/x", s.URL + "/round"}, Header: header})
	dst := make([]byte, 5)
	require.NoError(t, storage.ReadRange(t.Context(), b, "x", 6, dst))
	require.Equal(t, "world", string(dst))
	require.Empty(t, got.Load().Get("X-Token"))
	require.Empty(t, got.Load().Get("Authorization"))
	require.ErrorContains(t, storage.ReadRange(t.Context(), b, "round", 0, dst), "too many redirects")
	b = open(t, Options{URLs: []string{s.URL + "/x"}})
	err := storage.ReadRange(t.Context(), b, "x", 0, dst)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, "answers 401 Unauthorized; give an address that may be read, or a token in Header")
}

func TestChangedAndUnfit(t *testing.T) {
	url, dir, _ := site(t)
	write(t, dir, "x", "hello")
	s := open(t, Options{URLs: []string{url + "/x", url + "/y"}})
	dst := make([]byte, 3)
	require.NoError(t, storage.ReadRange(t.Context(), s, "x", 0, dst))
	write(t, dir, "x", "HELLO")
	later := time.Now().Add(time.Minute)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "x"), later, later))
	err := storage.ReadRange(t.Context(), s, "x", 0, dst)
	var changed *storage.ChangedError
	require.ErrorAs(t, err, &changed)
	require.Equal(t, url+"/x", changed.Name)
	require.ErrorIs(t, storage.ReadRange(t.Context(), s, "y", 0, dst), fs.ErrNotExist)

	whole := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }))
	defer whole.Close()
	s = open(t, Options{URLs: []string{whole.URL + "/x?secret"}})
	require.NoError(t, storage.ReadRange(t.Context(), s, "x", 0, dst), "the beginning")
	err = storage.ReadRange(t.Context(), s, "x", 1, dst)
	require.ErrorContains(t, err, "the server sends the whole object where a part was asked for")
	require.NotContains(t, err.Error(), "secret")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, storage.ReadRange(ctx, s, "x", 0, dst), context.Canceled)
}
