package ops

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline/datum"
)

// recorded are the figures of torchvision v2: magnitudes of all bins for a picture of 200×300
// pixels, policies, and small pictures.
type recorded struct {
	Height, Width int
	Picture       []int
	Spaces        map[string]map[string]struct {
		Signed     bool
		Magnitudes []float64
	}
	Policies map[string][][2][3]any
	Calls    []struct {
		Op        string
		Magnitude float64
		Linear    bool
		Result    []int
	}
	Equalized [3][]int
}

func recordedFigures(t *testing.T) (r recorded) {
	t.Helper()
	text, err := os.ReadFile("testdata/torchvision_augment.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}

func toBytes(xs []int) []byte {
	b := make([]byte, len(xs))
	for i, x := range xs {
		b[i] = byte(x)
	}
	return b
}

var augmentations = map[string]augmentation{
	"Identity": unchanged, "ShearX": shearX, "ShearY": shearY, "TranslateX": translateX, "TranslateY": translateY, "Rotate": rotateBy,
	"Brightness": brighten, "Color": saturate, "Contrast": contrastBy, "Sharpness": sharpen, "Posterize": posterize,
	"Solarize": solarize, "AutoContrast": autoContrast, "Equalize": equalize, "Invert": invert,
}

// Each operation makes the levels that torchvision makes, one more or less by rounding.
func TestAugmentationsAsRecorded(t *testing.T) {
	r := recordedFigures(t)
	src := toBytes(r.Picture)
	for _, c := range r.Calls {
		got := make([]byte, len(src))
		if c.Op == "Hue" {
			imaging.TurnTones(got, src, c.Magnitude)
		} else {
			k := augmenter{nearest: !c.Linear}
			require.NoError(t, k.apply(got, src, r.Height, r.Width, step{augmentations[c.Op], c.Magnitude}))
		}
		far := 0
		for i, want := range c.Result {
			if d := int(got[i]) - want; d < -1 || d > 1 {
				far++
			}
		}
		limit := 0
		if c.Op == "Rotate" && !c.Linear { // a place between two pixels may fall to either
			limit = 3
		}
		require.LessOrEqual(t, far, limit, "%s %g %t: %v", c.Op, c.Magnitude, c.Linear, got)
	}
}

func TestEqualizeTonesAsRecorded(t *testing.T) {
	r := recordedFigures(t)
	const n = 1200
	src := make([]byte, 3*n)
	for i := range n {
		x := i*i/7%181 + i%3*20
		src[3*i], src[3*i+1], src[3*i+2] = byte(x), byte(x/2), byte(x*3%200)
	}
	got := make([]byte, 3*n)
	imaging.EqualizeTones(got, src)
	for c, want := range r.Equalized {
		for i, level := range want {
			require.Equal(t, level, int(got[3*50*i+c]))
		}
	}
}

// All lists have torchvision's operations, with its magnitudes and signs.
func TestMagnitudesAsRecorded(t *testing.T) {
	r := recordedFigures(t)
	for name, c := range map[string]struct {
		space []magnitudes
		bins  int
	}{"TrivialAugmentWide": {trivialAugmentSpace, 31}, "RandAugment": {randAugmentSpace, 31}, "AutoAugment": {autoAugmentSpace, autoAugmentBins}, "AugMix": {augMixSpace, augMixBins}} {
		require.Len(t, c.space, len(r.Spaces[name]))
		for op, want := range r.Spaces[name] {
			m := find(t, c.space, augmentations[op])
			require.Equal(t, want.Signed, m.kind == eitherSign, "%s %s", name, op)
			require.Equal(t, want.Magnitudes == nil, m.kind == noMagnitude, "%s %s", name, op)
			for bin, x := range want.Magnitudes {
				require.InDelta(t, x, m.at(bin, c.bins, 200, 300), 1e-5*max(1, x), "%s %s bin %d", name, op, bin)
			}
		}
	}
}

// The policies are torchvision's, and operations are drawn as often as they say.
func TestPoliciesAsRecorded(t *testing.T) {
	r := recordedFigures(t)
	require.Len(t, autoAugmentPolicies, len(r.Policies))
	// The largest sums of squares at a level of 0.1 %, for 10 and 13 operations.
	for _, c := range []struct {
		policy AutoAugmentPolicy
		limit  float64
	}{{ForImageNet, 29.59}, {ForCIFAR10, 34.53}, {ForSVHN, 29.59}} {
		t.Run(c.policy.String(), func(t *testing.T) {
			pairs := autoAugmentPolicies[c.policy].pairs
			recorded := r.Policies[c.policy.String()]
			require.Len(t, pairs, len(recorded))
			for i, pair := range recorded {
				for j, want := range pair {
					got := pairs[i][j]
					require.Equal(t, augmentations[want[0].(string)], got.do)
					require.Equal(t, want[1], got.probability)
					if bin, ok := want[2].(float64); ok {
						require.Equal(t, int(bin), got.bin)
					}
				}
			}
			requireDrawnAsOften(t, pairs, c.limit)
		})
	}
	require.Equal(t, "AutoAugmentPolicy(3)", AutoAugmentPolicy(3).String())
}

// requireDrawnAsOften draws from a policy and compares how often operations come, by a chi-square
// test.
func requireDrawnAsOften(t *testing.T, pairs []subPolicy, limit float64) {
	const n = 20000
	var want, got [unknown]float64
	for _, pair := range pairs {
		for _, p := range pair {
			want[p.do] += n * p.probability / float64(len(pairs))
		}
	}
	var steps []step
	for i := range n {
		s := datum.NewSample(t.Context(), nil, 1, 0, int64(i))
		r := datum.NewRandom(1).At(&s)
		steps = autoAugment(pairs, &r, 200, 300, steps[:0])
		for _, s := range steps {
			got[s.do]++
		}
	}
	x, kinds := 0.0, 0
	for do, w := range want {
		if w == 0 {
			require.Zero(t, got[do])
			continue
		}
		kinds++
		x += (got[do] - w) * (got[do] - w) / w
	}
	require.Less(t, x, limit, "%d operations", kinds)
}

// AugMix gives the picture a share of a uniform distribution for Alpha 1, and chains that are alike.
func TestAugMixShares(t *testing.T) {
	k := augMix{o: AugMixOptions{Severity: 3, Width: 3, Alpha: 1}, space: augMixSpace}
	const n = 10000
	own, depths, means := make([]int, 10), make([]int, 3), make([]float64, 3)
	for i := range n {
		s := datum.NewSample(t.Context(), nil, 1, 0, int64(i))
		k.rand = datum.NewRandom(1).At(&s)
		k.draw()
		sum := 0.0
		for j, x := range k.shares {
			sum += x
			if j > 0 {
				means[j-1] += x / n
			}
		}
		require.InDelta(t, 1, sum, 1e-12)
		own[int(10*k.shares[0])]++
		k.chainOf(200, 300)
		depths[len(k.steps)-1]++
		for _, s := range k.steps {
			m := find(t, augMixSpace, s.do)
			require.LessOrEqual(t, max(s.magnitude, -s.magnitude), max(m.at(2, augMixBins, 200, 300), m.at(0, augMixBins, 200, 300)))
		}
	}
	require.Less(t, chiSquare(own), 27.88)    // 9 degrees of freedom
	require.Less(t, chiSquare(depths), 13.82) // 2
	for _, m := range means {
		require.InDelta(t, 1./6, m, 0.01)
	}
}

func find(t *testing.T, space []magnitudes, do augmentation) *magnitudes {
	t.Helper()
	for i := range space {
		if space[i].do == do {
			return &space[i]
		}
	}
	require.Fail(t, fmt.Sprint("no operation ", do))
	return nil
}

// chiSquare returns the statistic of counts against equal shares.
func chiSquare(counts []int) (x float64) {
	n := 0
	for _, c := range counts {
		n += c
	}
	each := float64(n) / float64(len(counts))
	for _, c := range counts {
		x += (float64(c) - each) * (float64(c) - each) / each
	}
	return x
}

// Operations, bins and signs are drawn equally often: chi-square tests at a level of 0.1 %.
func TestAugmentationsAreDrawnEquallyOften(t *testing.T) {
	const n = 20000
	for name, draw := range map[string]func(*datum.Rand, int, int, []step) []step{"trivial": trivialAugment(31), "rand": randAugment(2, 9, 31)} {
		ops, signs, bins := make([]int, 14), make([]int, 2), make([]int, 31)
		var steps []step
		for i := range n {
			s := datum.NewSample(t.Context(), nil, 1, 0, int64(i))
			r := datum.NewRandom(1).At(&s)
			steps = draw(&r, 200, 300, steps[:0])
			for _, s := range steps {
				ops[s.do]++
				if s.do == rotateBy && s.magnitude != 0 {
					signs[0]++
					if s.magnitude < 0 {
						signs[0]--
						signs[1]++
					}
				}
				if s.do == solarize {
					bins[int(30*(1-s.magnitude)+0.5)]++
				}
			}
		}
		require.Less(t, chiSquare(ops), 34.53, name)   // 13 degrees of freedom
		require.Less(t, chiSquare(signs), 10.83, name) // 1
		if name == "trivial" {
			require.Less(t, chiSquare(bins), 59.7, name) // 30
		} else {
			require.Equal(t, []int{0, 0}, []int{bins[8], bins[10]})
			require.NotZero(t, bins[9])
		}
	}
}
