package shard

import (
	"fmt"
	"slices"
)

// MaxMixPeriod bounds the sum of a [Mix]'s weights after division by their
// greatest common divisor, and with it the table that a Mix keeps.
const MaxMixPeriod = 1 << 16

// Mix draws from several sources in fixed proportions, without end: it says for
// every draw which source it comes from and how many that source gave before.
// The position is one number, so a mix resumes anywhere at no cost. Draw
// (step·ranks+rank)·batch+row shares it among ranks by step; a [Plan] with
// [Config.Sources] does all of this.
//
// Of the first k draws source i has given its exact share k·w/W (of weight w, of
// a total W) to within less than one, for every k. The schedule takes
// the source with the earliest deadline whose next draw is due, which on one
// processor meets every window of a fair schedule (Liu and Layland 1973; Baruah et al.,
// "Proportionate progress", Algorithmica 1996).
//
// A Mix is immutable and may be used concurrently.
type Mix struct {
	weights []int64
	turns   []turn // of one period
}

// turn is a draw of the period: the source, and its draws before in the period.
type turn struct{ source, before int32 }

// NewMix returns the mix of len(weights) sources in which source i has weight
// weights[i], such as 7, 2, 1. Weights are positive and, divided by their greatest
// common divisor, sum to at most MaxMixPeriod; a [*ConfigError] says otherwise.
func NewMix(weights ...int64) (*Mix, error) {
	if len(weights) == 0 {
		return nil, &ConfigError{"Weights", "empty", "at least one weight"}
	}
	for _, w := range weights {
		if w < 1 {
			return nil, &ConfigError{"Weights", weights, "positive numbers; leave out a source that gives nothing"}
		}
	}
	m := newTable(weights)
	if m == nil {
		return nil, &ConfigError{"Weights", weights, fmt.Sprintf("a sum of at most %d, or a multiple of that; use rounder proportions", MaxMixPeriod)}
	}
	return m, nil
}

// newTable returns the mix of weights that are not negative and not all 0, nil if it would
// have too long a period.
func newTable(weights []int64) *Mix {
	var divisor, period int64
	for _, w := range weights {
		divisor = gcd(divisor, w)
	}
	m := &Mix{weights: slices.Clone(weights)}
	for i := range m.weights {
		m.weights[i] /= divisor
		if m.weights[i] > MaxMixPeriod-period {
			return nil
		}
		period += m.weights[i]
	}
	m.schedule(period)
	return m
}

// schedule fills in the turns of one period. Sources whose weight is 0 have none.
func (m *Mix) schedule(period int64) {
	given := make([]int64, len(m.weights))
	m.turns = make([]turn, period)
	waiting := make([][]int32, period) // sources, by when their next draw is due
	for i, w := range m.weights {
		if w > 0 {
			waiting[0] = append(waiting[0], int32(i))
		}
	}
	var due deadlines
	for t := range period {
		for _, i := range waiting[t] {
			due.push(deadline{ceilDiv((given[i]+1)*period, m.weights[i]), i})
		}
		waiting[t] = nil
		next := due.pop().source
		m.turns[t] = turn{next, int32(given[next])}
		// Draw j of a source is due at floor(j·W/w) and late after ceil((j+1)·W/w).
		given[next]++
		if w := m.weights[next]; given[next] < w {
			at := max(given[next]*period/w, t+1)
			waiting[at] = append(waiting[at], next)
		}
	}
}

// deadline is when the next draw of a source is late.
type deadline struct {
	at     int64
	source int32
}

func (d deadline) before(e deadline) bool {
	return d.at < e.at || d.at == e.at && d.source < e.source
}

// deadlines are a heap of them.
type deadlines []deadline

func (h *deadlines) push(d deadline) {
	*h = append(*h, d)
	s := *h
	for i := len(s) - 1; i > 0 && s[i].before(s[(i-1)/2]); i = (i - 1) / 2 {
		s[i], s[(i-1)/2] = s[(i-1)/2], s[i]
	}
}

func (h *deadlines) pop() deadline {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if s[child].before(s[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}

// At returns the source of draw k >= 0 and the number of draws it gave before:
// its own position, which counts on from epoch to epoch of that source.
func (m *Mix) At(k int64) (source int, draw int64) {
	period := int64(len(m.turns))
	t := m.turns[k%period]
	return int(t.source), k/period*m.weights[t.source] + int64(t.before)
}

// Period returns the number of draws after which the order of sources repeats.
func (m *Mix) Period() int { return len(m.turns) }

// given returns how many of the first k draws each source has had.
func (m *Mix) given(k int64) []int64 {
	period := int64(len(m.turns))
	all := make([]int64, len(m.weights))
	for i, w := range m.weights {
		all[i] = k / period * w
	}
	for _, t := range m.turns[:k%period] {
		all[t.source]++
	}
	return all
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
