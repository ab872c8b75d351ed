package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
)

// pictures unpacks some pictures of four classes of CIFAR-10, and adds three files that are none.
func pictures(t *testing.T) string {
	t.Helper()
	f, err := os.Open(datatest.Data(t, "cifar10-jpeg.tar"))
	require.NoError(t, err)
	defer f.Close()
	dir, each := t.TempDir(), map[string]int{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		class := filepath.Base(filepath.Dir(h.Name))
		if h.Typeflag != tar.TypeReg || !strings.Contains("airplane frog ship truck", class) || each[class] == 200 {
			continue
		}
		each[class]++
		require.NoError(t, os.MkdirAll(filepath.Join(dir, class), 0o777))
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, class, filepath.Base(h.Name)), text, 0o666))
		if each[class] == 1 && class != "truck" { // one cut short in the middle, one of text, one empty
			bad := map[string][]byte{"airplane": text[:len(text)/3], "frog": []byte("a frog"), "ship": nil}[class]
			require.NoError(t, os.WriteFile(filepath.Join(dir, class, "bad.jpg"), bad, 0o666))
		}
	}
	require.Len(t, each, 4)
	return dir
}

// The model learns, names what it has skipped, and a run in two parts is that in one.
func TestFolder(t *testing.T) {
	dir := pictures(t)
	var whole bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-data", dir, "-epochs", "3"}, &whole))
	t.Log(whole.String())
	lines := strings.Split(strings.TrimSpace(whole.String()), "\n")
	require.Len(t, lines, 3)
	require.Regexp(t, `^epoch 3: loss [01]\.\d+; [5-9]\d\.\d % of 1(60|61|59) test pictures are right, 2 files of the others skipped$`, lines[2])

	stored := filepath.Join(t.TempDir(), "model")
	var first, second bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-data", dir, "-epochs", "2", "-checkpoint", stored}, &first))
	require.NoError(t, run(t.Context(), []string{"-data", dir, "-epochs", "3", "-checkpoint", stored}, &second))
	require.Equal(t, strings.Join(lines[:2], "\n")+"\n", first.String())
	rest := func(line string) string { _, rest, _ := strings.Cut(strings.TrimSpace(line), "; "); return rest }
	require.Equal(t, rest(lines[2]), rest(second.String()), "but for the mean of losses, which begins anew")
}

func TestUsage(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), nil, io.Discard), "usage")
	require.ErrorContains(t, run(t.Context(), []string{"-data", filepath.Join(t.TempDir(), "nothing")}, io.Discard), "nothing")
}
