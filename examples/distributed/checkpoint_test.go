//go:build !mpi

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// runTo trains up to an epoch and returns the checkpoint's text.
func runTo(t *testing.T, file string, epochs int) string {
	t.Helper()
	require.NoError(t, run(t.Context(), io.Discard, config{batch: 24, epochs: epochs, every: 10, checkpoint: file}))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// Whatever became of the last checkpoint, the run goes on from the one before, to the same
// weights, and the one before is not lost when the next one is saved.
func TestADamagedCheckpointIsNotTheEnd(t *testing.T) {
	want := runTo(t, filepath.Join(t.TempDir(), "run.json"), 4)
	for name, damage := range map[string]func(text []byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"cut short": func(text []byte) []byte { return text[:len(text)/2] },
		"a digit": func(text []byte) []byte {
			at := bytes.Index(text, []byte(`"weights":[[`)) + 14
			text[at] = '0' + (text[at]-'0'+1)%10
			return text
		},
		"no state": func(text []byte) []byte { return []byte(`{"steps":3}`) },
		"missing":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.json")
			text := runTo(t, file, 2)
			if damage == nil {
				require.NoError(t, os.Remove(file))
			} else {
				require.NoError(t, os.WriteFile(file, damage([]byte(text)), 0o644))
			}
			require.Equal(t, want, runTo(t, file, 4))
			_, err := load(file + previous)
			require.NoError(t, err)
			if damage != nil {
				require.FileExists(t, file+".damaged")
			}
		})
	}
}

func TestTwoDamagedCheckpointsAreTheEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.json")
	runTo(t, file, 1)
	again := config{batch: 24, epochs: 2, every: 10, checkpoint: file}
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.NoError(t, os.WriteFile(file+previous, []byte("{"), 0o644))
	err := run(t.Context(), io.Discard, again)
	require.ErrorIs(t, err, errDamaged)
	require.ErrorContains(t, err, file+previous)
	require.NoError(t, os.Remove(file+previous))
	require.ErrorContains(t, run(t.Context(), io.Discard, again), "move it away to begin anew")
	require.FileExists(t, file)
}

// A checkpoint is on the disk before it takes the place of the last one, and so is its
// name when save returns.
func TestCheckpointsAreOnTheDisk(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "run.json")
	require.NoError(t, replace(file, []byte("one")))
	content := func(name string) string {
		text, _ := os.ReadFile(name)
		return string(text)
	}
	var synced []string
	was := toDisk
	defer func() { toDisk = was }()
	toDisk = func(f *os.File) error {
		synced = append(synced, f.Name())
		switch len(synced) {
		case 1:
			require.Equal(t, []string{"one", "two"}, []string{content(file), content(f.Name())})
		case 2:
			require.Equal(t, []string{"two", "one"}, []string{content(file), content(file + previous)})
		}
		return was(f)
	}
	require.NoError(t, replace(file, []byte("two")))
	require.Equal(t, []string{file + ".new", dir}, synced)

	toDisk = func(*os.File) error { return os.ErrInvalid }
	require.ErrorIs(t, replace(file, []byte("three")), os.ErrInvalid)
	require.Equal(t, "two", content(file), "what is not on the disk takes nobody's place")
}
