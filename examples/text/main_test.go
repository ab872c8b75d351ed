package main

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// write makes text files of so many words of a small language, and a file of one byte.
func write(t *testing.T, words ...int) (files []string) {
	t.Helper()
	dir, random := t.TempDir(), rand.New(rand.NewPCG(3, 4))
	language := strings.Fields("the whale swims under a boat and nobody knows its name\n")
	for i, n := range words {
		var text strings.Builder
		for range n {
			text.WriteString(language[random.IntN(len(language))] + " ")
		}
		file := filepath.Join(dir, strconv.Itoa(i)+".txt")
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
		files = append(files, file)
	}
	last := filepath.Join(dir, "last.txt")
	require.NoError(t, os.WriteFile(last, []byte("."), 0o600))
	return append(files, last)
}

func train(t *testing.T, files []string, epochs int, checkpoint string) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, run(context.Background(), &out, files, epochs, checkpoint))
	return out.String()
}

func losses(t *testing.T, out string) (all []float64) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^epoch \d+: loss (\d+\.\d+) nats a byte$`).FindAllStringSubmatch(out, -1) {
		x, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		all = append(all, x)
	}
	return all
}

// The loss falls below what the frequencies of the letters alone allow, about 2.8 nats, and is the
// same in every run.
func TestRun(t *testing.T) {
	files := write(t, 4000, 1500)
	out := train(t, files, 3, "")
	all := losses(t, out)
	require.Len(t, all, 3, out)
	require.Less(t, all[1], all[0])
	require.Less(t, all[2], all[1])
	require.Less(t, all[2], 1.0)
	require.Equal(t, out, train(t, files, 3, ""))
}

// A run that ends after every epoch and goes on has the losses, and the checkpoint, of one that
// does not.
func TestGoingOnIsTheSame(t *testing.T) {
	files, dir := write(t, 700), t.TempDir()
	whole, broken := filepath.Join(dir, "whole"), filepath.Join(dir, "broken")
	want, got := train(t, files, 3, whole), ""
	for epochs := 1; epochs <= 3; epochs++ {
		got += train(t, files, epochs, broken)
	}
	require.Equal(t, want, got)
	require.Empty(t, train(t, files, 3, broken), "there is nothing left to train")
	a, err := os.ReadFile(whole)
	require.NoError(t, err)
	b, err := os.ReadFile(broken)
	require.NoError(t, err)
	require.Equal(t, a, b)

	require.ErrorContains(t, run(context.Background(), io.Discard, write(t, 600), 3, whole), "the state belongs to another run")
	require.NoError(t, os.Truncate(broken, 1000))
	require.ErrorContains(t, run(context.Background(), io.Discard, files, 3, broken), "move it away to begin anew")
}

func TestErrors(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.txt")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for want, files := range map[string][]string{"empty.txt is empty; leave it out": {empty}, "none.txt": {"none.txt"}, "name the text files": nil} {
		require.ErrorContains(t, run(context.Background(), io.Discard, files, 1, ""), want)
	}
	require.ErrorContains(t, run(context.Background(), io.Discard, nil, 0, ""), "-epochs is 0")
}

func TestHelpTrainsNothing(t *testing.T) {
	const asProgram = "TEXT_TEST_PROGRAM"
	if os.Getenv(asProgram) != "" {
		os.Args = []string{"text", "-help"}
		main()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelpTrainsNothing$")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.True(t, strings.HasPrefix(string(out), "Usage of"), string(out))
}
