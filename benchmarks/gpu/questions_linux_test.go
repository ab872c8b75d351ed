package gpu

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/dynlib"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/kernels"
)

// entryPoints are the functions of the driver that gorgonia.org/cu v0.9.6 links to,
// under the names that the headers of CUDA 12.9 give them: newer drivers must keep
// them for a program of Gorgonia's to start.
//
//go:embed testdata/entrypoints.txt
var entryPoints string

// TestEntryPoints tells which old functions the driver does not have any more. Those
// that streams/cuda needs it has, or the device would not open.
func TestEntryPoints(t *testing.T) {
	d := open(t, cuda.Primary)
	handle, err := dynlib.Open(library(t))
	require.NoError(t, err)
	names := strings.Fields(entryPoints)
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return dynlib.Symbol(handle, name) != 0 })
	found := len(names) - len(missing)
	if fake {
		missing = []string{"what its tests do not need"}
	}
	i := d.Info()
	fmt.Printf("question: does a driver for CUDA %d.%d have the entry points of gorgonia.org/cu? %d of %d, missing %v\n",
		i.Driver/1000, i.Driver%1000/10, found, len(names), missing)
}

// TestPTX tells what the driver takes to load the kernels.
func TestPTX(t *testing.T) {
	d := open(t, cuda.Primary)
	header := regexp.MustCompile(`\.version \S+|\.target \S+`).FindAllString(kernels.PTX, -1)
	began := time.Now()
	m, err := d.Load(kernels.PTX)
	require.NoError(t, err)
	_, err = m.Kernel("plankton_one_hot_int32")
	require.NoError(t, err)
	i := d.Info()
	fmt.Printf("question: does %s, compute capability %d.%d, load PTX of %v? yes, in %v\n", i.Name, i.Major, i.Minor, header, time.Since(began))
}

// TestEventOrder lets two streams write and copy in turns, ordered by events alone.
func TestEventOrder(t *testing.T) {
	d := open(t, cuda.Primary)
	const rounds = 1000
	n := size(1<<20, 64)
	mem, host := cudatest.Memory(t, d, n), cudatest.Locked(t, d, rounds)
	a, b := cudatest.Stream(t, d), cudatest.Stream(t, d)
	for i := range rounds {
		a.Do(cudatest.On(func(q *cuda.Queue) error { return q.Fill(mem, byte(i*7)) }))
		b.Wait(a.Record())
		b.Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(host[i:i+1], mem[n-1:]) }))
		a.Wait(b.Record())
	}
	require.NoError(t, b.Close())
	require.NoError(t, a.Close())
	right := 0
	for i, v := range host {
		if v == byte(i*7) {
			right++
		}
	}
	fmt.Printf("question: do events order streams? in %d of %d rounds\n", right, rounds)
	require.Equal(t, rounds, right)
}
