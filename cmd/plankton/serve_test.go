package main

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// servedRun is what bench and serve run here.
func servedRun(dir string) runFlags {
	return runFlags{Workload: "train", Data: dir, Batch: 4, Size: 16, World: 1, Prefetch: 2, Epochs: 2, Seed: 5, Threads: 1, Digest: true, JSON: true}
}

// served runs serve until the test ends, and returns its address.
func served(t *testing.T, f runFlags, listen string) string {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	c := serveCmd{runFlags: f, Listen: listen}
	ended := make(chan error, 1)
	go func() { ended <- c.serve(ctx, &stdio{w, io.Discard}) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	var said struct{ Listening string }
	require.NoError(t, json.NewDecoder(r).Decode(&said))
	return said.Listening
}

// benchOf runs bench.
func benchOf(f runFlags) (*benchResult, error) {
	return f.run(&stdio{io.Discard, io.Discard}, watch{})
}

// What serve serves makes the batches of bench that it makes without; one with another size
// ends bench with a line that names it.
func TestServeMakesTheRowsOfBench(t *testing.T) {
	dir := pictures(t, 12)
	bench := func(remote ...string) (*benchResult, error) {
		f := servedRun(dir)
		f.Remote, f.RemoteOnly = remote, true
		return benchOf(f)
	}
	want, err := bench()
	require.NoError(t, err)
	other := servedRun(dir)
	other.Seed, other.Batch, other.Epochs = 9, 7, 1 // they make no row
	url := served(t, other, "127.0.0.1:0")
	got, err := bench(url)
	require.NoError(t, err)
	require.Equal(t, want.Digests, got.Digests)
	require.Len(t, got.Remote.Workers, 1)
	require.Equal(t, url, got.Remote.Workers[0].Name)
	require.Nil(t, want.Remote)
	other.Size = 24
	url = served(t, other, "127.0.0.1:0")
	_, err = bench(url)
	require.ErrorContains(t, err, url)
	require.ErrorContains(t, err, "24×24")
	_, err = bench("http://10.1.2.3:4")
	require.ErrorContains(t, err, "--plain-text")
}

// With --remote-cut batches are the same with workers and without, and those of train and eval are other ones
// than without the cut; a worker without it is refused, and so is a workload that cannot be cut.
// --remote-cached changes no batch.
func TestRemoteCut(t *testing.T) {
	dir := pictures(t, 12)
	for _, workload := range []string{"train", "strong", "eval"} {
		whole := servedRun(dir)
		whole.Workload = workload
		cut := whole
		cut.RemoteCut = true
		uncut, err := benchOf(whole)
		require.NoError(t, err)
		want, err := benchOf(cut)
		require.NoError(t, err)
		require.Equal(t, workload == "strong", slices.Equal(uncut.Digests[0], want.Digests[0]), workload) // a picture of strong is bytes there in any case
		elsewhere := cut
		elsewhere.Remote, elsewhere.RemoteOnly, elsewhere.RemoteCached = []string{served(t, cut, "127.0.0.1:0")}, true, true
		got, err := benchOf(elsewhere)
		require.NoError(t, err)
		require.Equal(t, want.Digests, got.Digests, workload)
		elsewhere.Remote = []string{served(t, whole, "127.0.0.1:0")}
		_, err = benchOf(elsewhere)
		require.ErrorContains(t, err, elsewhere.Remote[0])
	}
	f := servedRun(dir)
	f.Workload, f.RemoteCut = "decode", true
	_, err := benchOf(f)
	require.ErrorContains(t, err, "cut")
}
