package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/iterator"
)

// folder writes four files in which a picture of the digit d is a bright bar in
// the rows from 2d on. Those of the test set are compressed.
func folder(t *testing.T, train, test int) string {
	t.Helper()
	dir := t.TempDir()
	for name, n := range map[string]int{"train": train, "t10k": test} {
		images, labels := idx(n, side, side), idx(n)
		for i := range n {
			digit := i % classes
			picture := make([]byte, side*side)
			copy(picture[2*digit*side:], bytes.Repeat([]byte{200}, 3*side))
			images = append(images, picture...)
			labels = append(labels, byte(digit))
		}
		write(t, filepath.Join(dir, name+"-images-idx3-ubyte"), images, name == "t10k")
		write(t, filepath.Join(dir, name+"-labels-idx1-ubyte"), labels, name == "t10k")
	}
	return dir
}

// idx returns the head of a file of bytes with these dimensions.
func idx(dims ...int) []byte {
	head := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		head = binary.BigEndian.AppendUint32(head, uint32(d))
	}
	return head
}

func write(t *testing.T, path string, data []byte, compressed bool) {
	t.Helper()
	if compressed {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write(data)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		path, data = path+".gz", b.Bytes()
	}
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

func TestRun(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(context.Background(), &out, folder(t, 500, 100), 5, ""))
	require.Equal(t, 5, strings.Count(out.String(), " images/s, waited for data "))
	require.Contains(t, out.String(), strings.Repeat("#", side)+"\n")
	require.Contains(t, out.String(), "this is a 0 (")
	require.Regexp(t, regexp.MustCompile(`\ntest accuracy (100\.0|9\d\.\d)\n\z`), out.String())
}

func TestTestingDoesNotTrain(t *testing.T) {
	train, test, err := find(folder(t, 200, 100))
	require.NoError(t, err)
	trainSet, err := train.open(batch)
	require.NoError(t, err)
	defer trainSet.Close()
	testSet, err := test.open(batch)
	require.NoError(t, err)
	defer testSet.Close()
	tr, err := newTrainer(newParameters(), trainSet, testSet)
	require.NoError(t, err)
	defer tr.close()

	require.NoError(t, tr.trainEpoch(context.Background(), iterator.NewProgress(io.Discard, trainSet, 1)))
	_, err = tr.testEpoch(context.Background())
	require.NoError(t, err)
	for _, n := range tr.model {
		grad, err := n.Grad()
		require.NoError(t, err)
		zero := tensor.New(tensor.WithShape(n.Shape()...), tensor.Of(tensor.Float32))
		require.Equal(t, zero.Data(), grad.Data(), "the gradient of %s, which the next step of training would use", n.Name())
	}
}

func TestWrongFolder(t *testing.T) {
	require.ErrorContains(t, run(context.Background(), io.Discard, "", 1, ""), "-data is missing")
	dir := folder(t, 10, 10)
	require.NoError(t, os.Remove(filepath.Join(dir, "t10k-labels-idx1-ubyte.gz")))
	require.ErrorContains(t, run(context.Background(), io.Discard, dir, 1, ""), "t10k-labels-idx1-ubyte")
	require.ErrorContains(t, run(context.Background(), io.Discard, dir, 0, ""), "-epochs is 0")
}
