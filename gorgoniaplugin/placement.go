package gorgoniaplugin

import "fmt"

// Where says where an operator of the graph finds a node's part of a batch.
type Where uint8

const (
	// InPlace is where the pipeline's last operator wrote it.
	InPlace Where = iota
	// Managed is a second place on the GPU, in memory that the host reaches as
	// well: the feed copies every batch there, on the GPU, because operators of
	// the graph read it on the host.
	Managed
	// Copied is memory of the machine, which copies it from the host in every
	// RunAll.
	Copied
)

var wheres = [...]string{InPlace: "in place", Managed: "managed", Copied: "copied"}

// String returns "in place", "managed" or "copied".
func (w Where) String() string {
	if int(w) < len(wheres) {
		return wheres[w]
	}
	return fmt.Sprintf("Where(%d)", uint8(w))
}

// Placement says where a node's part of a batch is while the machine runs.
type Placement struct {
	Node  string
	Where Where
	Why   string // it is not in place, or what reads it elsewhere all the same; "" otherwise
}

// String writes, for example,
//
//	image: managed: Sum runs on the host
func (p Placement) String() string {
	s := p.Node + ": " + p.Where.String()
	if p.Why != "" {
		s += ": " + p.Why
	}
	return s
}

// Placements says where Attach has decided that the machine reads each of the
// feed's nodes, nil before. On the CPU all are in place.
func (f *Feed) Placements() []Placement { return f.placements }
