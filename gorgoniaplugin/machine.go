//go:build !cuda

package gorgoniaplugin

import (
	"errors"

	"github.com/planktonml/plankton/streams"
	"gorgonia.org/gorgonia"
)

// Device is for pipeline.Options.Device. In a program that is built with
// Gorgonia's tag cuda, it is the GPU that the graph runs on, in the context of the
// machine that Feed.Attach is given; every pipeline needs one of its own. In other
// programs it is nil: the pipeline then works on the host alone. So a pipeline
// whose outputs end with ops.ToDevice brings its batches to where the graph reads
// them, in both builds.
//
// Until Attach nothing is allocated on the device, and a loader that is asked for
// a batch fails with ErrNotAttached.
func Device() streams.Device { return nil }

// machine is what a feed knows of the machine it is attached to: on the CPU
// where it stands.
type machine struct{ tape tape }

func (m *machine) attach(f *Feed, vm gorgonia.VM) ([]Placement, error) {
	if err := f.checkGraph(vm); err != nil {
		return nil, err
	}
	m.tape = tapeOf(vm)
	var all []Placement
	for _, in := range f.inputs {
		all = append(all, Placement{Node: in.node.Name()})
	}
	return all, nil
}

func (m *machine) begin()            { m.tape.begin() }
func (m *machine) ran() error        { return m.tape.ran() }
func (*machine) check() error        { return nil }
func (*machine) finish()             {}
func (*machine) close(*Feed) error   { return nil }
func sourceOf(*gorgonia.Node) source { return nil }

// readable refuses outputs in the memory of a device: nothing here can read them.
func readable(streams.Device) error {
	return errors.New("it is in the memory of a GPU, and this program is built without Gorgonia's tag cuda: build it with -tags cuda, or set pipeline.Options.Device to Device()")
}

// newSource is not called, since no output is readable.
func newSource(*gorgonia.ExprGraph, *input) *gorgonia.Node { return nil }
