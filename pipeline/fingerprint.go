package pipeline

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// kernelVersion is the version of what operators compute. It is raised by a release
// in which one of them makes other bits of the same input. Kernels in assembly
// and their plain Go twins agree bit for bit, so builds with and without the
// tag noasm share it; package math does not agree between architectures. What else an
// operator depends on, such as the library that it decodes with, is in its Op.Config.
const kernelVersion = "kernels/1 " + runtime.GOARCH

// Fingerprint describes all that decides what the pipeline makes of a sample, in
// lines that can be read and compared: the kernels, the options that matter,
// readers, operators and outputs in the order of the definition. Pipelines with
// equal fingerprints make bit-equal samples of equal data.
//
// It says nothing of the data (Reader.Meta does), of batch size, shards and the
// order of samples, of workers and prefetching, of what becomes of samples that fail
// (OnError and its caps), or of where values are: operators
// that only move them (BatchOp.Moves) are left out. A Go function that is an
// operator is only told apart by its name and Op.Config.
func (p *Pipeline) Fingerprint() []string { return slices.Clone(p.fingerprint) }

// fingerprint describes the definition as it was written, since operators that
// lead to no output count among the random ones too.
func (g *Graph) fingerprint() []string {
	lines := []string{
		kernelVersion,
		fmt.Sprintf("seed=%d ", g.opt.Seed) + g.rowOptions(),
	}
	n := g.numbering()
	for i := range g.nodes {
		if !g.nodes[i].moves() {
			lines = append(lines, g.describe(&g.nodes[i], n))
		}
	}
	for _, o := range g.outputs {
		lines = append(lines, fmt.Sprintf("output %s = v%d", o.name, n.values[o.value]))
	}
	return lines
}

// rowOptions describes the options that decide what a row is, beside the seed.
func (g *Graph) rowOptions() string { return fmt.Sprintf("exact_rgb=%t", g.opt.ExactRGB) }

// rowLines returns a function that describes all that decides what a row is, but the seed and
// the program: the fingerprint without the seed, and the data of all readers.
func (g *Graph) rowLines() func() []string {
	lines, readers := g.fingerprint(), slices.Clone(g.readers)
	lines[1] = g.rowOptions()
	return sync.OnceValue(func() []string {
		for _, r := range readers {
			lines = append(lines, fmt.Sprintf("data of %s: %d samples, %016x", r.Name, r.Len(), r.Meta().Fingerprint))
		}
		return lines
	})
}

// checkFingerprint refuses a fingerprint that would not come back from JSON, in which
// states of a loader are stored, as it was.
func (p *Pipeline) checkFingerprint() error {
	for _, line := range p.fingerprint {
		if !utf8.ValidString(line) {
			return &BuildError{Op: "definition", Err: fmt.Errorf("%q is not valid UTF-8; names, layouts and Op.Config must be: write other bytes with %%q or in hex", line)}
		}
	}
	return nil
}

// numbering is the numbers of values and nodes as if no operator moved values.
type numbering struct{ values, nodes []int }

func (g *Graph) numbering() numbering {
	n := numbering{make([]int, len(g.values)), make([]int, len(g.nodes)+1)}
	from := map[int]int{} // what was moved, by where it is now
	for i := range g.nodes {
		n.nodes[i+1] = n.nodes[i] + 1
		if node := &g.nodes[i]; node.moves() {
			n.nodes[i+1]--
			for j, v := range node.out {
				from[v] = node.in[j]
			}
		}
	}
	next := 0
	for v := range n.values {
		if origin, ok := from[v]; ok {
			n.values[v] = n.values[origin]
			continue
		}
		n.values[v] = next
		next++
	}
	return n
}

// moves reports whether the outputs are the inputs, elsewhere.
func (n *node) moves() bool { return n.batch != nil && n.batch.Moves }

// describe writes a node as in "v3 float32 CHW 3×8×8 = normalise v2: mean=0".
func (g *Graph) describe(n *node, as numbering) string {
	var b strings.Builder
	for i, v := range n.out {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "v%d %s", as.values[v], g.values[v].spec)
	}
	if len(n.out) > 0 {
		b.WriteString(" = ")
	}
	if n.reader >= 0 {
		b.WriteString("reader ")
	}
	b.WriteString(n.op.Name)
	for _, v := range n.in {
		fmt.Fprintf(&b, " v%d", as.values[v])
	}
	if n.op.Config != "" {
		fmt.Fprintf(&b, ": %s", n.op.Config)
	}
	if n.target >= 0 {
		fmt.Fprintf(&b, ", then to node %d", as.nodes[n.target])
	}
	return b.String()
}

// fold adds x to a fingerprint, by the finalizer of SplitMix64.
func fold(f, x uint64) uint64 {
	z := f ^ x + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
