package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run that ends after every epoch and goes on ends with the checkpoint, weights and solver
// included, of one that does not, bit for bit.
func TestGoingOnIsTheSame(t *testing.T) {
	data, dir := folder(t, 300, 50), t.TempDir()
	train := func(file string, epochs int) string {
		t.Helper()
		var out strings.Builder
		require.NoError(t, run(context.Background(), &out, data, epochs, file))
		return out.String()
	}
	whole, broken := filepath.Join(dir, "whole"), filepath.Join(dir, "broken")
	content := func(file string) []byte {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return text
	}
	train(whole, 1) // the weights begin at random
	require.NoError(t, os.WriteFile(broken, content(whole), 0o600))
	train(whole, 4)
	for epochs := 2; epochs <= 4; epochs++ {
		require.NotEqual(t, content(whole), content(broken))
		train(broken, epochs)
	}
	require.Equal(t, content(whole), content(broken))

	out := train(broken, 4)
	require.NotContains(t, out, "images/s", "there is nothing left to train")
	require.Contains(t, out, "test accuracy")
	require.Equal(t, content(whole), content(broken))

	require.NoError(t, os.Truncate(broken, 1000))
	require.ErrorContains(t, run(context.Background(), io.Discard, data, 4, broken), "move it away to begin anew")
	require.ErrorContains(t, run(context.Background(), io.Discard, folder(t, 200, 50), 4, whole), "the state belongs to another run")
}
