package flac

import (
	"errors"
	"math/bits"
)

var errSubframe = errors.New("a subframe is of a kind that there is not")

// subframe decodes the samples of one channel, of so many bits.
func (d *Decoder) subframe(s []int64, width uint) error {
	r := &d.bits
	if r.read(1) != 0 {
		return errSubframe
	}
	kind, wasted := r.read(6), uint(0)
	if r.read(1) != 0 {
		wasted = r.zeros(32) + 1
	}
	if r.over {
		return errEnd
	}
	if wasted >= width {
		return errSubframe
	}
	width -= wasted
	var err error
	switch {
	case kind == 0:
		x := r.signed(width)
		for i := range s {
			s[i] = x
		}
	case kind == 1:
		for i := range s {
			s[i] = r.signed(width)
		}
	case kind >= 8 && kind <= 12:
		err = d.fixed(s, int(kind-8), width)
	case kind >= 32:
		err = d.linear(s, int(kind-31), width)
	default:
		err = errSubframe
	}
	if err != nil {
		return err
	}
	if r.over {
		return errEnd
	}
	if wasted > 0 {
		for i := range s {
			s[i] <<= wasted
		}
	}
	return nil
}

// warm reads the first samples of a subframe that is predicted, as they are.
func (d *Decoder) warm(s []int64, order int, width uint) error {
	if order > len(s) {
		return errSubframe
	}
	for i := range s[:order] {
		s[i] = d.bits.signed(width)
	}
	return nil
}

// fixed decodes samples that are predicted by a polynomial.
func (d *Decoder) fixed(s []int64, order int, width uint) error {
	if err := d.warm(s, order, width); err != nil {
		return err
	}
	if err := d.residual(s, order); err != nil {
		return err
	}
	switch order {
	case 1:
		for i := 1; i < len(s); i++ {
			s[i] += s[i-1]
		}
	case 2:
		for i := 2; i < len(s); i++ {
			s[i] += 2*s[i-1] - s[i-2]
		}
	case 3:
		for i := 3; i < len(s); i++ {
			s[i] += 3*(s[i-1]-s[i-2]) + s[i-3]
		}
	case 4:
		for i := 4; i < len(s); i++ {
			s[i] += 4*(s[i-1]+s[i-3]) - 6*s[i-2] - s[i-4]
		}
	}
	return nil
}

// linear decodes samples that are predicted by a linear combination of those before.
func (d *Decoder) linear(s []int64, order int, width uint) error {
	if err := d.warm(s, order, width); err != nil {
		return err
	}
	r := &d.bits
	precision := uint(r.read(4)) + 1
	shift := r.signed(5)
	if precision == 16 || shift < 0 {
		return errSubframe
	}
	c := d.lpc[:order]
	for i := range c {
		c[order-1-i] = r.signed(precision) // the first one is that of the nearest sample
	}
	if err := d.residual(s, order); err != nil {
		return err
	}
	for i := order; i < len(s); i++ {
		sum := int64(0)
		for j, x := range s[i-order : i] {
			sum += c[j] * x
		}
		s[i] += sum >> shift
	}
	return nil
}

// residual reads what predictions miss to s behind its first order samples: in partitions of
// numbers with Rice codes of one parameter, or of so many bits.
func (d *Decoder) residual(s []int64, order int) error {
	r := &d.bits
	method, partitions := r.read(2), r.read(4)
	if method > 1 {
		return errSubframe
	}
	size, escape := uint(4+method), uint64(15|method<<4)
	n := len(s) >> partitions
	if n<<partitions != len(s) || n < order {
		return errSubframe
	}
	for from, to := order, n; to <= len(s); from, to = to, to+n {
		if k := r.read(size); k != escape {
			r.rice(s[from:to], uint(k))
		} else if k := uint(r.read(5)); k == 0 {
			clear(s[from:to])
		} else {
			for i := from; i < to; i++ {
				s[i] = r.signed(k)
			}
		}
		if r.over {
			return errEnd
		}
	}
	return nil
}

// mostZeros is how many zeros a Rice code may begin with: residuals have 32 bits.
const mostZeros = 1 << 31

// rice reads numbers with Rice codes of the parameter k.
func (r *bitReader) rice(s []int64, k uint) {
	for i := range s {
		if r.n < 32 {
			r.fill()
		}
		var u uint64
		if z := uint(bits.LeadingZeros64(r.acc)); z+1+k <= r.n {
			rest := r.acc << z << 1
			u = uint64(z)<<k | rest>>(64-k)
			r.acc = rest << k
			r.n -= z + 1 + k
		} else {
			u = uint64(r.zeros(mostZeros>>k))<<k | r.read(k)
			if r.over {
				return
			}
		}
		s[i] = int64(u>>1) ^ -int64(u&1)
	}
}
