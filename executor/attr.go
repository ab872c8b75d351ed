package executor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/planktonml/plankton/memstats"
)

// Attr says what kind of memory an output needs: flags, and without OnHost the number of
// a device. Compile infers it from the node that writes the output and from all nodes
// that read it.
type Attr uint16

const (
	// OnHost is memory that the processor addresses; without it, the memory of
	// Device.
	OnHost Attr = 1 << iota
	// DeviceCompatible is host memory that devices can copy from or to by
	// themselves: page-locked. It has no meaning without OnHost.
	DeviceCompatible
	// NetworkCompatible is memory next to a transfer to or from another
	// address space.
	NetworkCompatible
)

// maxDevice is the highest number of a device that an Attr has room for.
const (
	maxDevice   = 255
	deviceShift = 8
)

// OnDevice is memory of a device, by its place in Options.Devices, 0 to 255.
func OnDevice(number int) Attr {
	if number < 0 || number > maxDevice {
		panic(fmt.Sprintf("executor: there is no device %d; devices are 0 to %d", number, maxDevice))
	}
	return Attr(number) << deviceShift
}

// Device returns the number of the device whose memory it is: 0 for host memory, too,
// which is of none.
func (a Attr) Device() int { return int(a >> deviceShift) }

// String lists the flags, such as "host|device-compatible", or "device 1" in place of "host".
func (a Attr) String() string {
	var names []string
	if a&OnHost != 0 {
		names = append(names, "host")
	} else {
		names = append(names, fmt.Sprintf("device %d", a.Device()))
	}
	if a&DeviceCompatible != 0 {
		names = append(names, "device-compatible")
	}
	if a&NetworkCompatible != 0 {
		names = append(names, "network-compatible")
	}
	return strings.Join(names, "|")
}

// Kind returns the kind of memory that the flags ask for.
func (a Attr) Kind() memstats.Kind {
	switch {
	case a&OnHost == 0:
		return memstats.Device
	case a&DeviceCompatible != 0:
		return memstats.PageLocked
	}
	return memstats.Host
}

// Backend is where a node works.
type Backend uint8

const (
	// Host nodes read and write host memory.
	Host Backend = iota
	// Mixed nodes read host memory and write device memory.
	Mixed
	// Device nodes read and write device memory.
	Device

	numBackends = iota
)

// String returns "host", "mixed" or "device".
func (b Backend) String() string { return [...]string{"host", "mixed", "device"}[b] }

// inferAttrs merges what every edge asks of the output that it leaves, after
// TensorFlow's InferAllocAttr, extended by two rules. There are mixed operators here,
// which copy to the device without a transfer node in between, so a host output that
// one of them or a device node reads is page-locked. And nodes of control flow hand on
// the memory that they are given, so what is asked of their outputs is asked of their
// inputs: through branches, loops and whatever nests of them. The result is by Node.id.
func inferAttrs(nodes int, order []*Node, force bool) [][]Attr {
	attrs := make([][]Attr, nodes)
	for _, n := range order {
		attrs[n.id] = make([]Attr, n.outs)
	}
	for changed := true; changed; { // again where a loop hands on what its end asks for
		changed = false
		for _, n := range slices.Backward(order) {
			for i, in := range n.in {
				at := &attrs[in.node.id][in.index]
				if asked := *at | n.asks(i, attrs[n.id]); asked != *at {
					*at, changed = asked, true
				}
			}
		}
	}
	for _, n := range order {
		for i := range attrs[n.id] {
			n.settle(i, &attrs[n.id][i], force)
		}
	}
	return attrs
}

// asks returns what n asks of its input i, for itself or for those that read its
// outputs, which ask for outs.
func (n *Node) asks(i int, outs []Attr) (a Attr) {
	switch n.kind {
	case kindSend:
		return n.peer.attr()
	case kindKernel:
		if n.op.Backend != Host {
			return DeviceCompatible
		}
	case kindIdentity, kindEnter, kindExit, kindNextIteration, kindLoopCond:
		return outs[0]
	case kindMerge:
		return outs[0] // output 1 is a number of its own
	case kindSwitch:
		if i == 0 { // input 1 is the selector
			for _, o := range outs {
				a |= o
			}
		}
	}
	return a
}

// settle makes of what is asked of output i what its memory is.
func (n *Node) settle(i int, a *Attr, force bool) {
	if n.peer != nil { // a Recv
		*a |= n.peer.attr()
	}
	if n.op.Backend != Host && !n.onHost(i) {
		*a &^= OnHost | DeviceCompatible // memory of a device needs no lock
		*a |= OnDevice(n.deviceOf(i))
		return
	}
	*a |= OnHost
	if force {
		*a |= DeviceCompatible
	}
}

// attr says what a transfer with p asks of the local end of it.
func (p *Peer) attr() Attr {
	switch {
	case p.Remote:
		return NetworkCompatible
	case p.Backend != Host:
		return DeviceCompatible
	}
	return 0
}
