package audio

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// naive is the transform by its definition.
func naive(re, im []float64) (outRe, outIm []float64) {
	n := len(re)
	outRe, outIm = make([]float64, n), make([]float64, n)
	for k := range n {
		for j := range n {
			s, c := math.Sincos(-2 * math.Pi * float64(k*j%n) / float64(n))
			outRe[k] += re[j]*c - im[j]*s
			outIm[k] += re[j]*s + im[j]*c
		}
	}
	return outRe, outIm
}

// Transforms of every length are what the definition says.
func TestFFT(t *testing.T) {
	lengths := []int{64, 97, 100, 127, 128, 200, 255, 256, 257, 400}
	for n := 1; n <= 40; n++ {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			re, im := make([]float64, n), make([]float64, n)
			for i := range n {
				re[i], im[i] = random.NormFloat64(), random.NormFloat64()
			}
			wantRe, wantIm := naive(re, make([]float64, n))
			gotRe, gotIm := newRealFFT(n).transform(re)
			require.Len(t, gotRe, n/2+1)
			require.InDeltaSlice(t, wantRe[:n/2+1], gotRe, 1e-10)
			require.InDeltaSlice(t, wantIm[:n/2+1], gotIm, 1e-10)
			wantRe, wantIm = naive(re, im)
			newFFT(n).transform(re, im)
			require.InDeltaSlice(t, wantRe, re, 1e-10)
			require.InDeltaSlice(t, wantIm, im, 1e-10)
		})
	}
}

// A signal below both rates is the same signal at the other rate.
func TestResampler(t *testing.T) {
	r := newResampler(80)
	src := make([]float32, 400)
	for i := range src {
		src[i] = float32(math.Sin(float64(i) * 0.3))
	}
	for _, by := range []float64{0.5, 1, 1.37, 3} {
		dst := make([]float32, scaled(len(src), by))
		r.resample(dst, src, 1, 1/by)
		for i := len(dst) / 4; i < len(dst)*3/4; i++ { // away from the ends, beyond which there is nothing
			require.InDelta(t, math.Sin(float64(i)/by*0.3), dst[i], 2e-3, "%d at %g", i, by)
		}
	}
}

// The tables of ITU-T G.711 at their ends and around 0.
func TestCompanding(t *testing.T) {
	for b, want := range map[byte]int16{0xd5: 8, 0x55: -8, 0xaa: 32256, 0x2a: -32256} {
		require.Equal(t, want, aLaw(b), "A-law %#x", b)
	}
	for b, want := range map[byte]int16{0xff: 0, 0x7f: 0, 0x80: 32124, 0x00: -32124} {
		require.Equal(t, want, muLaw(b), "µ-law %#x", b)
	}
}

func FuzzParseWAV(f *testing.F) {
	f.Add([]byte("RIFF\x28\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x04\x00\x00\x00\x01\x02\x03\x04"))
	f.Add([]byte("RIFF\x00\x00\x00\x00WAVEdata"))
	f.Fuzz(func(t *testing.T, file []byte) {
		w, err := parseWAV(file)
		if err != nil {
			return
		}
		for i := range w.frames() * w.channels {
			w.read(i)
		}
	})
}
