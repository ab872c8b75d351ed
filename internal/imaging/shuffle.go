//go:build (amd64 || arm64) && !noasm

package imaging

import "math"

// shuffle is the program of the assembly's horizontal for one axis.
type shuffle struct {
	base []int32  // per lane: where its load begins
	tab  []uint32 // per group of two lanes and tap: eight shuffle entries and eight weights
}

const (
	group    = 2 * lane
	tapWords = 2 * group
	noSample = 0x80808080 // shuffles to zero
	oneByte  = 0x80808000 // shuffles the byte of the lowest eight bits to a 32-bit integer
)

// build writes the program for a narrow axis.
func (s *shuffle) build(t *taps) {
	if !useAssembly {
		return
	}
	out, n := len(t.first), t.n
	groups := (out + group - 1) / group
	s.base = grow(s.base, 2*groups)
	s.tab = grow(s.tab, groups*n*tapWords)
	for l := range s.base {
		at := l * lane
		s.base[l] = 0
		if at < out {
			lo, _ := t.laneWindow(at)
			s.base[l] = int32(min(lo, t.axis.End-laneBytes))
		}
		tab := s.tab[l/2*n*tapWords+at%group:]
		for i := at; i < at+lane; i++ {
			if i >= out {
				for k := range n {
					tab[k*tapWords+i-at], tab[k*tapWords+i-at+group] = noSample, 0
				}
				continue
			}
			entry := oneByte | uint32(t.first[i]-s.base[l])
			for k, w := range t.weight[i*n : (i+1)*n] {
				tab[k*tapWords+i-at], tab[k*tapWords+i-at+group] = entry+uint32(k), math.Float32bits(w)
			}
		}
	}
}
