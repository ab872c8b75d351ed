package solvers_test

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/solvers"
)

// stored are the ways to store a state and to read it again.
var stored = map[string]func(t require.TestingT, s solvers.State) solvers.State{
	"itself": func(_ require.TestingT, s solvers.State) solvers.State { return s },
	"binary": func(t require.TestingT, s solvers.State) (again solvers.State) {
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, again.UnmarshalBinary(data))
		clear(data)
		return again
	},
	"JSON": func(t require.TestingT, s solvers.State) solvers.State {
		var file struct{ Solver solvers.State }
		file.Solver = s
		text, err := json.Marshal(file)
		require.NoError(t, err)
		file.Solver = solvers.State{}
		require.NoError(t, json.Unmarshal(text, &file))
		return file.Solver
	},
	"gob": func(t require.TestingT, s solvers.State) (again solvers.State) {
		var b bytes.Buffer
		require.NoError(t, gob.NewEncoder(&b).Encode(s))
		require.NoError(t, gob.NewDecoder(&b).Decode(&again))
		return again
	},
}

var (
	_ encoding.BinaryMarshaler   = solvers.State{}
	_ encoding.TextMarshaler     = solvers.State{}
	_ encoding.BinaryUnmarshaler = (*solvers.State)(nil)
	_ encoding.TextUnmarshaler   = (*solvers.State)(nil)
	_ gorgonia.Solver            = (*solvers.Solver)(nil)
)

// copyTo makes the weights of another model those of v, as a checkpoint does.
func (v *values) copyTo(to *values) {
	for i := range v.w {
		from := floats(v.w[i])
		fill(to.w[i], func() float64 { x := from[0]; from = from[1:]; return x })
	}
}

// bits returns the weights bit by bit.
func (v *values) bits() (all []uint64) {
	for _, w := range v.w {
		for _, x := range floats(w) {
			all = append(all, math.Float64bits(x))
		}
	}
	return all
}

// A training that is broken off anywhere, any number of times, and goes on with another
// solver from what was stored, ends with the same weights and the same state, bit for bit.
func TestGoingOnIsTheSameToTheBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		of := rapid.SampledFrom([]tensor.Dtype{tensor.Float32, tensor.Float64}).Draw(t, "type")
		store := stored[rapid.SampledFrom([]string{"itself", "binary", "JSON", "gob"}).Draw(t, "form")]
		seed := rapid.Uint64().Draw(t, "seed")
		rates := rapid.SliceOfN(rapid.Float64Range(0, 0.1), 1, 60).Draw(t, "rates")
		take := func(v *values, s *solvers.Solver, step int) {
			v.gradients(seed, step)
			if step%3 == 0 { // a schedule whose rate holds for some steps
				require.NoError(t, s.SetLearnRate(rates[step]))
			}
			require.NoError(t, s.Step(v.model()))
		}

		whole := newValues(of, seed)
		want, err := k.make(whole.nodes())
		require.NoError(t, err)
		for step := range rates {
			take(whole, want, step)
		}

		broken := newValues(of, seed)
		got, err := k.make(broken.nodes())
		require.NoError(t, err)
		for step := range rates {
			if rapid.IntRange(0, 4).Draw(t, "break") == 0 {
				state, next := store(t, got.State()), newValues(of, 0)
				broken.copyTo(next)
				take(broken, got, step) // what a state holds does not change with its solver
				broken = next
				got, err = k.make(broken.nodes())
				require.NoError(t, err)
				require.NoError(t, got.Restore(state))
			}
			take(broken, got, step)
		}
		require.Equal(t, whole.bits(), broken.bits())
		require.Equal(t, want.State(), got.State())
	})
}

// What is not a number, and what no decimal number is, survives as well.
func TestStatesAreExactToTheBit(t *testing.T) {
	strange := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.SmallestNonzeroFloat32, 1.0 / 3}
	for _, of := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		v := newValues(of, 1)
		s, err := solvers.NewMomentum(v.nodes(), solvers.MomentumOptions{LearnRate: 1})
		require.NoError(t, err)
		i := 0
		for _, g := range v.g {
			fill(g, func() float64 { i++; return strange[i%len(strange)] })
		}
		require.NoError(t, s.Step(v.model()))
		state := s.State()
		want, err := state.MarshalBinary()
		require.NoError(t, err)
		for form, store := range stored {
			got, err := store(t, state).MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, want, got, form)
		}
	}
}

// small returns the stored form of a state.
func small(t testing.TB) []byte {
	v := newValues(tensor.Float32, 1)
	s, err := solvers.NewAdam(v.nodes(), solvers.AdamOptions{})
	require.NoError(t, err)
	v.steps(t, s, 1, 0, 3)
	data, err := s.State().MarshalBinary()
	require.NoError(t, err)
	return data
}

func TestDamagedStatesAreRefused(t *testing.T) {
	data := small(t)
	good := solvers.State{}
	require.NoError(t, good.UnmarshalBinary(data))
	require.EqualValues(t, 3, good.Steps())
	require.Equal(t, "Adam after 3 steps, 5 nodes, 272 bytes", good.String())
	refused := func(data []byte, want error) {
		t.Helper()
		state := good
		err := state.UnmarshalBinary(data)
		require.ErrorIs(t, err, want)
		require.NotContains(t, err.Error(), "\n")
		require.Equal(t, good, state, "it is as it was")
	}
	for n := range data {
		refused(data[:n], solvers.ErrDamaged)
		bad := bytes.Clone(data)
		bad[n] ^= 1 << (n % 8)
		require.Error(t, new(solvers.State).UnmarshalBinary(bad), "byte %d", n)
	}
	refused(append(bytes.Clone(data), 0), solvers.ErrDamaged)
	edit := func(old, text string) []byte {
		require.Contains(t, string(data), old)
		return bytes.Replace(data, []byte(old), []byte(text), 1)
	}
	refused(edit(`"version":1`, `"version":2`), solvers.ErrVersion)
	refused(edit(`"version":1`, `"version":0`), solvers.ErrDamaged)
	refused(edit(`"steps":3`, `"steps":4`), solvers.ErrDamaged)

	require.ErrorIs(t, new(solvers.State).UnmarshalText([]byte("?")), solvers.ErrDamaged)
	require.ErrorIs(t, json.Unmarshal([]byte(`"AAAA"`), new(solvers.State)), solvers.ErrDamaged)
	v := newValues(tensor.Float32, 1)
	s, err := solvers.NewAdam(v.nodes(), solvers.AdamOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, s.Restore(solvers.State{}), solvers.ErrDamaged)
	require.Equal(t, "no state", solvers.State{}.String())
}

// A state that belongs to another solver is refused with what is another, and changes
// nothing.
func TestStatesOfOtherSolversAreRefused(t *testing.T) {
	model := func(of tensor.Dtype, names ...string) gorgonia.Nodes {
		g := gorgonia.NewGraph()
		var nodes gorgonia.Nodes
		for i, name := range names {
			nodes = append(nodes, gorgonia.NewMatrix(g, of, gorgonia.WithShape(2, 3+i), gorgonia.WithName(name)))
		}
		return nodes
	}
	adam := func(m gorgonia.Nodes, o solvers.AdamOptions) *solvers.Solver {
		s, err := solvers.NewAdam(m, o)
		require.NoError(t, err)
		return s
	}
	f32 := tensor.Float32
	w, err := solvers.NewAdamW(model(f32, "a", "b"), solvers.AdamWOptions{})
	require.NoError(t, err)
	s := adam(model(f32, "a", "b"), solvers.AdamOptions{LearnRate: 0.5})
	before := s.State()
	for message, other := range map[string]*solvers.Solver{
		"the solver was AdamW, now it is Adam":                w,
		"Beta2 was 0.5, now it is 0.999":                      adam(model(f32, "a", "b"), solvers.AdamOptions{Beta2: 0.5}),
		"Clip was 2, now it is 0":                             adam(model(f32, "a", "b"), solvers.AdamOptions{Clip: 2}),
		"the number of nodes was 1, now it is 2":              adam(model(f32, "a"), solvers.AdamOptions{}),
		`the name of node 1 was "c", now it is "b"`:           adam(model(f32, "a", "c"), solvers.AdamOptions{}),
		`the name of node 0 was "b", now it is "a"`:           adam(model(f32, "b", "a"), solvers.AdamOptions{}),
		`the type of node "a" was float64, now it is float32`: adam(model(tensor.Float64, "a", "b"), solvers.AdamOptions{}),
		`the shape of node "a" was [2 4], now it is [2 3]`:    adam(model(f32, "x", "a", "b")[1:], solvers.AdamOptions{}),
	} {
		err := s.Restore(other.State())
		var mismatch *solvers.MismatchError
		require.ErrorAs(t, err, &mismatch)
		require.EqualError(t, err, "solvers: the state belongs to another solver: "+message+"; go on with the same model and options, or start anew")
		require.Equal(t, before, s.State())
	}
	require.NoError(t, s.Restore(adam(model(f32, "a", "b"), solvers.AdamOptions{LearnRate: 0.25}).State()))
	require.Equal(t, 0.25, s.LearnRate(), "the learning rate is part of the state")
}

func FuzzState(f *testing.F) {
	f.Add(small(f))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var state solvers.State
		if state.UnmarshalBinary(data) != nil {
			return
		}
		again, err := state.MarshalBinary()
		require.NoError(t, err)
		var second solvers.State
		require.NoError(t, second.UnmarshalBinary(again))
		require.Equal(t, state, second)
	})
}

// A state whose checksum is right may still make no sense.
func TestStatesThatMakeNoSenseAreRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	line, _, _ := bytes.Cut(small(t), []byte("\n"))
	for range 2000 {
		edited := bytes.Clone(line)
		for range 1 + r.IntN(3) {
			edited[r.IntN(len(edited))] = `0123456789-"{}[],:e`[r.IntN(19)]
		}
		if bytes.Equal(edited, line) {
			continue
		}
		require.NotPanics(t, func() { _ = new(solvers.State).UnmarshalBinary(withChecksum(edited)) })
	}
	for _, text := range []string{
		`{"version":1,"slots":["a"],"nodes":[{"name":"w","type":"float32","shape":[4611686018427387904,4]}]}`,
		`{"version":1,"slots":["a"],"nodes":[{"name":"w","type":"float32","shape":[-1]}]}`,
		`{"version":1,"slots":["a"],"nodes":[{"name":"w","type":"int8","shape":[0]}]}`,
		`{"version":1,"slots":["a","b"],"nodes":[{"name":"w","type":"float64","shape":[1]}]}`,
		`{"version":1,"steps":-1}`,
		`{"version":1,"other":1}`,
	} {
		require.ErrorIs(t, new(solvers.State).UnmarshalBinary(withChecksum([]byte(text))), solvers.ErrDamaged, text)
	}
}

// withChecksum completes a stored state that has no numbers.
func withChecksum(line []byte) []byte {
	data := append(bytes.Clone(line), '\n')
	sum := sha256.Sum256(data)
	return append(data, sum[:]...)
}
