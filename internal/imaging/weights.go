package imaging

// Weights are the weights of one resampled axis, for who resamples elsewhere than in this package: output i is the
// sum over k < N of Weight[i*N+k]·source[First[i]+k]. Every window lies inside the source.
//
// Values are those of Resize to the bit where products and sums are rounded to float32 one by one, in its order: along
// a row first, from k = 0 on, or for bytes and Wide in eight partial sums of every eighth k, of which halves, then
// quarters, then neighbours are added; down a column from the source row whose number is a multiple of N on, and after
// the last row of the window from its first.
type Weights struct {
	N      int
	First  []int32
	Weight []float32
	Wide   bool // N is a multiple of 8
}

// Weights returns the weights of the two axes: down the columns, and along the rows. The source is one of h×w samples.
func (p *Plan) Weights(h, w int) (cols, rows Weights, err error) {
	return new(Weigher).Weights(p, h, w)
}

// Weigher computes the weights of plan after plan in the same memory. The zero value is ready.
type Weigher struct{ y, x taps }

// Weights is [Plan.Weights]; what it returns is valid until the next call.
func (k *Weigher) Weights(p *Plan, h, w int) (cols, rows Weights, err error) {
	if err := p.Y.check(h); err != nil {
		return cols, rows, err
	}
	if err := p.X.check(w); err != nil {
		return cols, rows, err
	}
	k.y.buildVertical(p.Y)
	k.x.buildHorizontal(p.X)
	return k.y.export(), k.x.export(), nil
}

func (t *taps) export() Weights {
	return Weights{N: t.n, First: t.first, Weight: t.weight, Wide: t.wide}
}
