package executor

import (
	"strings"

	"github.com/planktonml/plankton/memstats"
)

// Attr says what kind of memory an output needs. Compile infers it from the
// node that writes the output and from all nodes that read it.
type Attr uint8

const (
	// OnHost is memory that the processor addresses; without it, the memory of
	// the device.
	OnHost Attr = 1 << iota
	// DeviceCompatible is host memory that the device can copy from or to by
	// itself: page-locked. It has no meaning without OnHost.
	DeviceCompatible
	// NetworkCompatible is memory next to a transfer to or from another
	// address space.
	NetworkCompatible
)

// String lists the flags, "device" standing for their absence.
func (a Attr) String() string {
	var names []string
	if a&OnHost != 0 {
		names = append(names, "host")
	} else {
		names = append(names, "device")
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
// TensorFlow's InferAllocAttr, extended by one rule: there are mixed operators
// here, which copy to the device without a transfer node in between, so a host
// output that one of them or a device node reads is page-locked.
func inferAttrs(n *Node, consumers map[Output][]use, force bool) []Attr {
	attrs := make([]Attr, n.outs)
	for i := range attrs {
		host := n.op.Backend == Host || n.onHost(i)
		if host {
			attrs[i] |= OnHost
		}
		if n.peer != nil { // a Recv
			attrs[i] |= n.peer.attr(host)
		}
		for _, u := range consumers[Output{n, i}] {
			switch {
			case u.node.kind == kindSend:
				attrs[i] |= u.node.peer.attr(host)
			case host && u.node.op.Backend != Host:
				attrs[i] |= DeviceCompatible
			}
		}
		if force && host {
			attrs[i] |= DeviceCompatible
		}
	}
	return attrs
}

// attr says what a transfer with p asks of the local end of it.
func (p *Peer) attr(localHost bool) Attr {
	switch {
	case p.Remote:
		return NetworkCompatible
	case localHost && p.Backend != Host:
		return DeviceCompatible
	}
	return 0
}
