package remote_test

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
)

// A program in another language reads rows with nothing but the page that describes the wire
// format.
func TestPythonReadsRows(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import numpy").Run()
	}
	if err != nil {
		t.Skip("there is no python3 with numpy: ", err)
	}
	j := job{samples: 40, options: pipeline.Options{BatchSize: 32, Seed: 9}}
	_, server := worker(t, j)
	l, err := iterator.New(iterator.Options{}, j.pipeline(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for b, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		var want strings.Builder
		args := []string{"testdata/rows.py", server.URL, fmt.Sprint(j.options.Seed), fmt.Sprint(b.Epoch())}
		for i, id := range b.IDs() {
			if !b.Mask()[i] {
				continue
			}
			args = append(args, fmt.Sprint(id))
			for _, name := range []string{"x", "dense", "ragged"} { // in the order of the definition
				x := b.Sample(name, i)
				layout := string(x.Layout())
				if layout == "" {
					layout = "-"
				}
				fmt.Fprintf(&want, "%v [%s] %s %x\n", x.DType(), strings.Trim(strings.Join(strings.Fields(fmt.Sprint(x.Shape())), ", "), "[]"), layout, sha256.Sum256(x.Bytes()))
			}
		}
		out, err := exec.Command(python, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, want.String(), string(out))
	}
}
