package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// What serve serves makes the batches of bench that it makes without; one with another size
// ends bench with a line that names it.
func TestServeMakesTheRowsOfBench(t *testing.T) {
	dir := pictures(t, 12)
	flags := func() runFlags {
		return runFlags{Workload: "train", Data: dir, Batch: 4, Size: 16, World: 1, Prefetch: 2, Epochs: 2, Seed: 5, Threads: 1, Digest: true, JSON: true}
	}
	serve := func(f runFlags) string {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		c := serveCmd{runFlags: f, Listen: "127.0.0.1:0"}
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
	var out bytes.Buffer
	bench := func(remote ...string) (*benchResult, error) {
		c := flags()
		c.Remote, c.RemoteOnly = remote, true
		return c.run(&stdio{&out, &out}, watch{})
	}
	want, err := bench()
	require.NoError(t, err)
	other := flags()
	other.Seed, other.Batch, other.Epochs = 9, 7, 1 // they make no row
	url := serve(other)
	got, err := bench(url)
	require.NoError(t, err)
	require.Equal(t, want.Digests, got.Digests)
	require.Len(t, got.Remote.Workers, 1)
	require.Equal(t, url, got.Remote.Workers[0].Name)
	require.Nil(t, want.Remote)
	other.Size = 24
	url = serve(other)
	_, err = bench(url)
	require.ErrorContains(t, err, url)
	require.ErrorContains(t, err, "24×24")
	_, err = bench("http://10.1.2.3:4")
	require.ErrorContains(t, err, "--plain-text")
}
