package shard

import (
	"fmt"
	"math"
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
	var divisor int64
	for _, w := range weights {
		if w < 1 {
			return nil, &ConfigError{"Weights", weights, "positive numbers; leave out a source that gives nothing"}
		}
		divisor = gcd(divisor, w)
	}
	m := &Mix{weights: slices.Clone(weights)}
	var period int64
	for i := range m.weights {
		m.weights[i] /= divisor
		if m.weights[i] > MaxMixPeriod-period {
			return nil, &ConfigError{"Weights", weights, fmt.Sprintf("a sum of at most %d, or a multiple of that; use rounder proportions", MaxMixPeriod)}
		}
		period += m.weights[i]
	}
	m.schedule(period)
	return m, nil
}

// schedule fills in the turns of one period.
func (m *Mix) schedule(period int64) {
	given := make([]int64, len(m.weights))
	m.turns = make([]turn, period)
	for t := range period {
		next, earliest := 0, period+1
		for i, w := range m.weights {
			// Draw j of a source is due at floor(j·W/w) and late after ceil((j+1)·W/w).
			due, deadline := given[i]*period/w, ceilDiv((given[i]+1)*period, w)
			if due <= t && deadline < earliest {
				next, earliest = i, deadline
			}
		}
		m.turns[t] = turn{int32(next), int32(given[next])}
		given[next]++
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

// mixture says what the list positions of a plan that mixes sources draw. Draws
// count on from epoch to epoch, and every source goes through epochs of its own.
type mixture struct {
	*Mix
	draws  int64   // of an epoch of the plan
	sizes  []int64 // of the sources
	starts []int64 // their first ids
}

// newMixture returns the mixture of a valid config, nil if it has no sources.
func newMixture(c *Config) (*mixture, error) {
	if c.Sources == nil {
		return nil, nil
	}
	mix, err := NewMix(c.Weights...)
	if err != nil {
		return nil, err
	}
	m := &mixture{Mix: mix, draws: c.Samples, sizes: c.Sources}
	next := int64(0)
	for _, size := range m.sizes {
		m.starts = append(m.starts, next)
		next += size
	}
	return m, nil
}

// draw returns the place in an epoch of a source that a list position draws. After
// 2^63 draws the mix begins anew.
func (m *mixture) draw(epoch, pos int64) (source int, sourceEpoch, place int64) {
	source, drawn := m.At((epoch*m.draws + pos) & math.MaxInt64)
	return source, drawn / m.sizes[source], drawn % m.sizes[source]
}

// drawer finds the samples of draws. It is a value of one call, on the stack, and
// keeps the orders of a few sources, as neighbours in the list are of different ones.
type drawer struct {
	*mixture
	cfg    *Config
	orders [8]struct {
		source int
		epoch  int64
		list   shuffle // of no samples before the first use
	}
}

// id returns the sample that a list position of an epoch draws.
func (d *drawer) id(epoch, pos int64) int64 {
	source, epoch, place := d.draw(epoch, pos)
	if d.cfg.Shuffle {
		o := &d.orders[source%len(d.orders)]
		if o.list.n == 0 || o.source != source || o.epoch != epoch {
			o.source, o.epoch = source, epoch
			o.list = newShuffle(d.sizes[source], d.cfg.Block, deriveKey(d.cfg.Seed, epochKey, epoch, int64(source)))
		}
		place = o.list.at(place)
	}
	return d.starts[source] + place
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
