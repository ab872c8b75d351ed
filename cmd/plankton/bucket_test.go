package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/s3test"
)

// bucketOf serves a folder as the bucket data, and sets the environment to its server.
func bucketOf(t *testing.T, dir string) (*s3test.Gateway, *s3test.Proxy) {
	t.Helper()
	g := s3test.Start(t)
	require.NoError(t, os.CopyFS(filepath.Join(g.Folder, "data", "train"), os.DirFS(dir)))
	p := s3test.NewProxy(t, g.URL)
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": p.URL, "AWS_ACCESS_KEY_ID": s3test.AccessKey, "AWS_SECRET_ACCESS_KEY": s3test.SecretKey, "AWS_REGION": s3test.Region,
		"AWS_PROFILE": "", "AWS_SESSION_TOKEN": "", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
	} {
		t.Setenv(name, value)
	}
	return g, p
}

// A bucket has the batches of the folder, with a cache before it or not; what was kept is
// not asked for again.
func TestBucket(t *testing.T) {
	dir := pictures(t, 10)
	_, p := bucketOf(t, dir)
	const flags = "--workload train --batch 8 --size 32 --epochs 2 --seed 3 --digest"
	want := bench(t, dir, flags).Digests
	kept := filepath.Join(t.TempDir(), "kept")
	for _, total := range []int64{20, 20} {
		require.Equal(t, want, bench(t, "s3://data/train", flags+" --cache-bytes 1000000 --cache "+kept).Digests)
		gets, lists, heads := p.Counts()
		require.Equal(t, []int64{total, 0}, []int64{gets, heads}, "one request for each sample, and none for what is kept")
		require.Positive(t, lists)
	}
	res := bench(t, "s3://data/train", flags)
	require.Equal(t, want, res.Digests)
	require.Nil(t, res.Cache)
	// A run makes rows of the epoch behind its last one ahead, so more may be asked for.
	require.GreaterOrEqual(t, res.Network.Requests-res.Network.Lists, int64(40), "two epochs of 20")
	require.Positive(t, res.Network.BytesFetched)
	res = bench(t, "s3://data/train", flags+" --cache-bytes 1000000 --cache "+kept)
	require.GreaterOrEqual(t, res.Cache.Hits, int64(40))
	require.Zero(t, res.Cache.Misses)
	require.Equal(t, res.Network.Requests, res.Network.Lists)
	out, errs, code := command("bench", "--workload", "train", "--size", "32", "--data", "s3://data/train", "--cache", kept, "--cache-bytes", "1000000")
	require.Zero(t, code, errs)
	require.Regexp(t, `(?m)^network: \d+ requests? \(\d+ for names, 0 again, 0 hedged\), 0 bytes fetched for 0 bytes; they waited 0s for each other and 0s to be tried again, and reads waited \d[^ ]* for them$`, out)
	require.Regexp(t, `(?m)^cache: \d{2,} hits, 0 misses, \d+ bytes from it, 0 chunks added, 0 bad; it holds \d+ bytes of 1000000 bytes$`, out)

	out, errs, code = command("cache", kept)
	require.Zero(t, code, errs)
	require.True(t, strings.HasPrefix(out, "20 chunks of "), out)
	require.Contains(t, out, "s3://data/train/ants")
	left := t.TempDir() // this process may still use the other one
	require.NoError(t, os.CopyFS(left, os.DirFS(kept)))
	out, errs, code = command("cache", "--clean", "--json", left)
	require.Zero(t, code, errs)
	require.JSONEq(t, `{"bytes":0,"chunks":0,"bad":0,"folders":[]}`, out)
	_, errs, code = command("cache", dir)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "is no cache")
}

// Errors of a bucket are one line that says what to set.
func TestBucketErrors(t *testing.T) {
	dir := pictures(t, 1)
	g, _ := bucketOf(t, dir)
	fails := func(code int, want string, args ...string) {
		t.Helper()
		_, errs, got := command(append([]string{"bench", "--workload", "train"}, args...)...)
		require.Equal(t, code, got, errs)
		require.Contains(t, errs, want)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
	fails(1, "s3://data/none/: file does not exist: no object's key begins with \"none/\"", "--data", "s3://data/none")
	fails(1, "there is no bucket nowhere at http://127.0.0.1:", "--data", "s3://nowhere/train")
	fails(1, "want one such as s3://bucket/folder", "--data", "s3:///train")
	fails(1, "a cache is for data in a bucket or on the web", "--data", dir, "--cache", t.TempDir(), "--cache-bytes", "1000")
	fails(2, "give a folder and how much it may hold, or neither", "--data", dir, "--cache", t.TempDir())
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	fails(1, "set AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to the secret of this key", "--data", "s3://data/train")
	g.Stop()
	t.Setenv("AWS_ENDPOINT_URL", g.URL)
	fails(1, "connection refused; see that the address is right and the server runs", "--data", "s3://data/train")
}

// A run whose answers are late is bound by the network, and says so wherever it is shown.
func TestBucketBindsTheRun(t *testing.T) {
	dir := pictures(t, 10)
	_, p := bucketOf(t, dir)
	out := t.TempDir()
	var res benchResult
	late := 50 * time.Millisecond
	for ; ; late *= 4 { // a machine with other work is slow itself, and waits less for the answers
		// Each answer is later than the one before, however many are asked for at a time.
		p.Set(func(n int64, _ *http.Request) s3test.Fault { return s3test.Fault{Delay: time.Duration(n) * late} })
		text, errs, code := command("trace", "--workload", "train", "--size", "32", "--batch", "4", "--threads", "2", "--data", "s3://data/train", "--json", "--out", out)
		require.Zero(t, code, errs)
		res = benchResult{}
		require.NoError(t, json.Unmarshal([]byte(text), &res))
		if strings.HasPrefix(res.Verdict, "network-bound") || late > 2*time.Second {
			break
		}
	}
	require.Regexp(t, `^network-bound: workers waited for the server \d+ % of their time in \S+ \(\d+\.?\d*ms a sample\); \d+ requests of \d+ bytes took `, res.Verdict)
	require.Contains(t, res.Verdict, "raise LookAhead of the reader (")
	require.Greater(t, res.Network.ReadsWaited, 10*late)
	require.Greater(t, res.Network.UnderWay, 20*10*late, "20 requests, 10 times that late on average")
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), `class="verdict network"`)
	require.Contains(t, string(page), "requests to servers")

	// Files of this machine are not waited for.
	res = bench(t, dir, "--workload train --size 32 --batch 4 --threads 2")
	require.Nil(t, res.Network)
	require.NotContains(t, res.Verdict, "network")
}
