package shard

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Shares says in which proportions a mix draws from its entries, which are sources or mixes
// in turn.
//
// Within a stage, of the first k draws of a mix each entry has its share k·w/W to within
// less than one, or to within less than four where the weights, divided by their greatest
// common divisor, sum to more than [MaxMixPeriod].
type Shares struct {
	// Weights has one for each entry. A weight of 0 needs a stage that gives the entry
	// another one. Their sum is at most MaxSamples.
	Weights []int64
	// Stages are later weights, in the order of their beginnings.
	Stages []Stage
	// Mixes has the shares of entries that are mixes, and nil for sources. Nil: all entries
	// are sources.
	Mixes []*Shares
}

// Stage has the weights of a mix from a draw of the training on.
type Stage struct {
	// Epoch and Draw, counted from 0, are the place in the list of epochs of the whole mix.
	// A stage that begins within an epoch needs a partition by step; by step, Draw is the
	// step times the rows of all ranks.
	Epoch, Draw int64
	// Weights has one for each entry. An entry of weight 0 has no draws in the stage.
	Weights []int64
}

// sources returns the number of sources of the shares.
func (s *Shares) sources() int {
	n := len(s.Weights)
	for _, m := range s.Mixes {
		if m != nil {
			n += m.sources() - 1
		}
	}
	return n
}

// clone returns a copy of its own.
func (s *Shares) clone() *Shares {
	if s == nil {
		return nil
	}
	c := &Shares{Weights: slices.Clone(s.Weights), Stages: slices.Clone(s.Stages), Mixes: slices.Clone(s.Mixes)}
	for i := range c.Stages {
		c.Stages[i].Weights = slices.Clone(c.Stages[i].Weights)
	}
	for i, m := range c.Mixes {
		c.Mixes[i] = m.clone()
	}
	return c
}

// String writes the shares as in "[3,1]", "[3,1]@2:0[1,1]" with a stage from epoch 2 on and
// "[3,1[2,5]]" with a mix as second entry.
func (s *Shares) String() string {
	if s == nil {
		return "[]"
	}
	var b strings.Builder
	b.WriteByte('[')
	for i, w := range s.Weights {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, w)
		if i < len(s.Mixes) && s.Mixes[i] != nil {
			b.WriteString(s.Mixes[i].String())
		}
	}
	b.WriteByte(']')
	for _, st := range s.Stages {
		fmt.Fprintf(&b, "@%d:%d%s", st.Epoch, st.Draw, list(st.Weights))
	}
	return b.String()
}

// validate reports shares that cannot be met in epochs of so many draws.
func (s *Shares) validate(c *Config) error {
	if s.Mixes != nil && len(s.Mixes) != len(s.Weights) {
		return &ConfigError{"Shares.Mixes", fmt.Sprintf("%d long", len(s.Mixes)), fmt.Sprintf("one for each of the %d weights, nil for a source", len(s.Weights))}
	}
	if err := s.checkWeights(s.Weights); err != nil {
		return err
	}
	last := int64(0)
	for i, st := range s.Stages {
		name := element("Shares.Stages", i)
		switch {
		case st.Epoch < 0 || st.Draw < 0 || st.Draw >= c.Samples || st.Epoch > math.MaxInt64/2/c.Samples:
			return &ConfigError{name, fmt.Sprintf("from epoch %d, draw %d on", st.Epoch, st.Draw), fmt.Sprintf("an epoch from 0 on and one of its draws, 0 to %d", c.Samples-1)}
		case st.Draw > 0 && c.Partition != ByStep:
			return &ConfigError{"Partition", c.Partition, fmt.Sprintf("ByStep: stage %d of the mix begins within an epoch, and by shard ranks read different parts of it at a time; or let it begin with an epoch", i)}
		case st.from(c.Samples) <= last:
			return &ConfigError{name, fmt.Sprintf("from epoch %d, draw %d on", st.Epoch, st.Draw), "a place behind the beginning and behind the stages before"}
		case len(st.Weights) != len(s.Weights):
			return &ConfigError{name + ".Weights", st.Weights, fmt.Sprintf("one for each of the %d entries", len(s.Weights))}
		}
		if err := s.checkWeights(st.Weights); err != nil {
			return err
		}
		last = st.from(c.Samples)
	}
	for i := range s.Weights {
		if s.Weights[i] == 0 && !slices.ContainsFunc(s.Stages, func(st Stage) bool { return st.Weights[i] > 0 }) {
			return &ConfigError{"Weights", list(s.Weights), fmt.Sprintf("positive numbers; leave out entry %d, which gives nothing in any stage", i)}
		}
	}
	for _, m := range s.Mixes {
		if m != nil {
			if err := m.validate(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Shares) checkWeights(weights []int64) error {
	left := int64(MaxSamples)
	for _, w := range weights {
		if w < 0 {
			return &ConfigError{"Weights", weights, "positive numbers; leave out a source that gives nothing"}
		}
		if w > left {
			return &ConfigError{"Weights", weights, fmt.Sprintf("a sum of at most %d", int64(MaxSamples))}
		}
		left -= w
	}
	if left == MaxSamples {
		return &ConfigError{"Weights", list(weights), "at least one positive number"}
	}
	return nil
}

// from returns the number of draws before the stage.
func (s Stage) from(draws int64) int64 { return s.Epoch*draws + s.Draw }

// mixNode shares draws among the entries of a mix.
type mixNode struct {
	stages []mixStage
	mixes  []*mixNode // by entry; nil for a source
	first  []int      // the first source of each entry
}

// mixStage is a stage with what came before it.
type mixStage struct {
	from   int64
	table  *Mix   // nil where halves share
	halves halves // nil where one entry has all draws, which the table says
	before []int64
}

// newMixNode returns the node of valid shares whose sources begin with first. Local turns a
// number of draws of the whole mix into those of the node.
func newMixNode(s *Shares, draws int64, first int, local func(int64) int64) *mixNode {
	n := &mixNode{mixes: make([]*mixNode, len(s.Weights)), first: make([]int, len(s.Weights))}
	n.stages = append(n.stages, newMixStage(0, s.Weights, make([]int64, len(s.Weights))))
	for _, st := range s.Stages {
		last, from := &n.stages[len(n.stages)-1], local(st.from(draws))
		before := last.given(from-last.from, len(s.Weights))
		for i := range before {
			before[i] += last.before[i]
		}
		n.stages = append(n.stages, newMixStage(from, st.Weights, before))
	}
	for i := range s.Weights {
		n.first[i] = first
		if i >= len(s.Mixes) || s.Mixes[i] == nil {
			first++
			continue
		}
		n.mixes[i] = newMixNode(s.Mixes[i], draws, first, func(k int64) int64 {
			k = local(k)
			st := n.stage(k)
			return st.before[i] + st.given(k-st.from, len(s.Weights))[i]
		})
		first += s.Mixes[i].sources()
	}
	return n
}

func newMixStage(from int64, weights, before []int64) mixStage {
	st := mixStage{from: from, before: before}
	if st.table = newTable(weights); st.table == nil {
		st.halves = newHalves(weights)
	}
	return st
}

// given returns how many of the first k draws of the stage each entry has had.
func (st *mixStage) given(k int64, entries int) []int64 {
	if st.table == nil {
		return st.halves.given(k, entries)
	}
	return st.table.given(k)
}

// stage returns the stage of draw k.
func (n *mixNode) stage(k int64) *mixStage {
	if len(n.stages) == 1 {
		return &n.stages[0]
	}
	return &n.stages[sort.Search(len(n.stages), func(i int) bool { return n.stages[i].from > k })-1]
}

// at returns the source of draw k, and the number of draws that it had before.
func (n *mixNode) at(k int64) (source int, draw int64) {
	for {
		st := n.stage(k)
		var entry int
		if st.table != nil {
			entry, draw = st.table.At(k - st.from)
		} else {
			entry, draw = st.halves.at(k - st.from)
		}
		draw += st.before[entry]
		if n.mixes[entry] == nil {
			return n.first[entry], draw
		}
		n, k = n.mixes[entry], draw
	}
}

// ParseShares reads what [Shares.String] writes.
func ParseShares(text string) (*Shares, error) {
	p := sharesParser{left: text}
	s, ok := p.shares()
	if !ok || p.left != "" {
		return nil, &ConfigError{"Shares", fmt.Sprintf("%q", text), "weights such as [3,1], with a mix behind its weight as in [3,1[2,5]], and stages as in [3,1]@2:0[1,1], which is from epoch 2, draw 0 on"}
	}
	return s, nil
}

// sharesParser reads shares from the front of what is left of a text.
type sharesParser struct {
	left  string
	depth int // of mixes within mixes
}

// maxShareDepth bounds what a text may ask of the stack.
const maxShareDepth = 100

// take takes a prefix off.
func (p *sharesParser) take(prefix string) (ok bool) {
	p.left, ok = strings.CutPrefix(p.left, prefix)
	return ok
}

func (p *sharesParser) number() (n int64, ok bool) {
	end := 0
	for end < len(p.left) && (p.left[end] >= '0' && p.left[end] <= '9' || p.left[end] == '-') {
		end++
	}
	n, err := strconv.ParseInt(p.left[:end], 10, 64)
	p.left = p.left[end:]
	return n, err == nil
}

// shares reads a list of weights and the stages behind it.
func (p *sharesParser) shares() (*Shares, bool) {
	s, ok := p.list()
	for ok && p.take("@") {
		var st Stage
		var weights *Shares
		if st.Epoch, ok = p.number(); !ok || !p.take(":") {
			return nil, false
		}
		if st.Draw, ok = p.number(); !ok {
			return nil, false
		}
		if weights, ok = p.list(); !ok || weights.Mixes != nil {
			return nil, false
		}
		st.Weights = weights.Weights
		s.Stages = append(s.Stages, st)
	}
	return s, ok
}

// list reads a list of weights, of which some are those of mixes.
func (p *sharesParser) list() (*Shares, bool) {
	s, mixed := &Shares{}, false
	if p.depth++; p.depth > maxShareDepth || !p.take("[") {
		return nil, false
	}
	defer func() { p.depth-- }()
	for more := true; more; more = p.take(",") {
		w, ok := p.number()
		if !ok {
			return nil, false
		}
		var mix *Shares
		if strings.HasPrefix(p.left, "[") {
			if mix, ok = p.shares(); !ok {
				return nil, false
			}
			mixed = true
		}
		s.Weights, s.Mixes = append(s.Weights, w), append(s.Mixes, mix)
	}
	if !mixed {
		s.Mixes = nil
	}
	return s, p.take("]")
}
