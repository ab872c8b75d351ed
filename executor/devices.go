package executor

import (
	"fmt"
	"slices"

	"github.com/planktonml/plankton/streams"
)

// checkDevices refuses an Op that does not say where the node works.
func (n *Node) checkDevices() error {
	op := &n.op
	if op.Backend == Host {
		if op.Devices != nil || op.OutputDevices != nil {
			return fmt.Errorf("Op.Devices and Op.OutputDevices are for mixed and device nodes: set Op.Backend, or leave them out")
		}
		return nil
	}
	last := -1
	for _, d := range op.Devices {
		if d <= last || d > maxDevice {
			return fmt.Errorf("Op.Devices is %v, expected different numbers from 0 to %d, ascending", op.Devices, maxDevice)
		}
		last = d
	}
	if op.OutputDevices != nil && len(op.OutputDevices) != op.Outputs {
		return fmt.Errorf("Op.OutputDevices has %d entries for %d outputs", len(op.OutputDevices), op.Outputs)
	}
	for i := range op.Outputs {
		switch {
		case n.onHost(i):
		case op.OutputDevices == nil && len(op.Devices) > 1:
			return fmt.Errorf("works on devices %v: say in Op.OutputDevices of which of them output %d is", op.Devices, i)
		case op.OutputDevices != nil && !slices.Contains(n.devices(), op.OutputDevices[i]):
			return fmt.Errorf("Op.OutputDevices has output %d on device %d, expected one of Op.Devices %v", i, op.OutputDevices[i], n.devices())
		}
	}
	return nil
}

var firstDevice = []int{0}

// devices returns the devices that a mixed or device node works on.
func (n *Node) devices() []int {
	switch {
	case n.op.Backend == Host:
		return nil
	case len(n.op.Devices) == 0:
		return firstDevice
	}
	return n.op.Devices
}

// deviceOf returns the device whose memory an output is that is not on the host.
func (n *Node) deviceOf(output int) int {
	if n.op.OutputDevices != nil {
		return n.op.OutputDevices[output]
	}
	return n.devices()[0]
}

// place notes the devices of item i.
func (p *Program) place(i int, n *Node) {
	on := n.devices()
	if p.places == nil && len(on) > 0 && !slices.Equal(on, firstDevice) {
		p.places = make([][]int, len(p.items))
		for k := range i {
			if p.items[k].back != Host {
				p.places[k] = firstDevice
			}
		}
	}
	if p.places != nil {
		p.places[i] = on
	}
}

// devicesOf returns on how many devices a mixed or device node works.
func (p *Program) devicesOf(id int32) int {
	if p.places == nil {
		return 1
	}
	return len(p.places[id])
}

// streamDevices returns the devices of every node that needs a stream in the graph of
// the planner, nil if they are all on device 0. A node of the host that reads what a
// device has written counts as one of that device; it waits on the host.
func (p *Program) streamDevices(edges []streams.Edge) [][]int {
	if p.places == nil {
		return nil
	}
	all := slices.Clone(p.places)
	for _, e := range edges {
		if from := p.places[e.From]; e.Kind == streams.Data && all[e.To] == nil && from != nil {
			all[e.To] = from[:1]
		}
	}
	return all
}

// checkDevices refuses Options.Devices with less than what the nodes name.
func (o *Options) checkDevices(p *Program) error {
	for i, d := range o.Devices {
		if d == nil {
			return fmt.Errorf("executor: Options.Devices[%d] is nil: give a device, or leave all of them out to work on the spot", i)
		}
	}
	for i, on := range p.places {
		if len(on) > 0 && on[len(on)-1] >= len(o.Devices) {
			return fmt.Errorf("executor: node %q works on devices %v, and Options.Devices has %d: give a device for each number from 0 on", p.names[i], on, len(o.Devices))
		}
	}
	return nil
}
