package pipeline

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// kernels is the version of what operators compute. It is raised by a release
// in which one of them makes other bits of the same input. Kernels in assembly
// and their plain Go twins agree bit for bit, so builds with and without the
// tag noasm share it; the tag turbojpeg decodes with another engine, and package
// math does not agree between architectures.
const kernels = "kernels/1 " + runtime.GOARCH + engine

// Fingerprint describes all that decides what the pipeline makes of a sample, in
// lines that can be read and compared: the kernels, the options that matter,
// readers, operators and outputs in the order of the definition. Pipelines with
// equal fingerprints make bit-equal samples of equal data.
//
// It says nothing of the data (Reader.Meta does), of batch size, shards and the
// order of samples, or of workers and prefetching. A Go function that is an
// operator is only told apart by its name and Op.Config.
func (p *Pipeline) Fingerprint() []string { return slices.Clone(p.fingerprint) }

// fingerprint describes the definition as it was written, since operators that
// lead to no output count among the random ones too.
func (g *Graph) fingerprint() []string {
	lines := []string{
		kernels,
		fmt.Sprintf("seed=%d exact_rgb=%t on_error=%s", g.opt.Seed, g.opt.ExactRGB, g.opt.OnError),
	}
	for i := range g.nodes {
		lines = append(lines, g.describe(&g.nodes[i]))
	}
	for _, o := range g.outputs {
		lines = append(lines, fmt.Sprintf("output %s = v%d", o.name, o.value))
	}
	return lines
}

// describe writes a node as in "v3 float32 CHW 3×8×8 = normalise v2: mean=0".
func (g *Graph) describe(n *node) string {
	var b strings.Builder
	for i, v := range n.out {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "v%d %s", v, g.values[v].spec)
	}
	if len(n.out) > 0 {
		b.WriteString(" = ")
	}
	if n.reader >= 0 {
		b.WriteString("reader ")
	}
	b.WriteString(n.op.Name)
	for _, v := range n.in {
		fmt.Fprintf(&b, " v%d", v)
	}
	if n.op.Config != "" {
		fmt.Fprintf(&b, ": %s", n.op.Config)
	}
	if n.target >= 0 {
		fmt.Fprintf(&b, ", then to node %d", n.target)
	}
	return b.String()
}
