package pipeline

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/affinity"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

func allowedCPUs(t *testing.T) []int {
	t.Helper()
	cpus, err := affinity.Allowed()
	if runtime.GOOS != "linux" {
		_, err := New(Options{BatchSize: 1, SetAffinity: true}, func(g *Graph) { g.Output("n", g.Read(ReaderOptions{}, numbers{n: 1})[0]) })
		require.ErrorIs(t, err, ErrUnsupported)
		t.Skip("thread affinity is only supported on Linux")
	}
	require.NoError(t, err)
	return cpus
}

// pinned returns a pipeline whose kernels note the masks that the kernel of the
// operating system has for their threads.
func pinned(t *testing.T, o Options, read func(g *Graph) Value) (*Pipeline, func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	masks := map[string]int{}
	o.BatchSize, o.SetAffinity = 4, true
	p, err := New(o, func(g *Graph) {
		g.Output("n", g.Add(Op{
			Name: "where", Inputs: []Value{read(g)}, Outputs: []datum.Spec{{DType: datum.Int32}}, Expensive: true,
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
					cpus, err := affinity.Get()
					mu.Lock()
					masks[affinity.Format(cpus)]++
					mu.Unlock()
					return errors.Join(err, out[0].CopyFrom(in[0]))
				}), nil
			},
		})[0])
	})
	require.NoError(t, err)
	return p, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return masks
	}
}

func TestWorkersRunOnTheirCPUs(t *testing.T) {
	allowed := allowedCPUs(t)
	last := allowed[len(allowed)-1]
	read := func(g *Graph) Value { return g.Read(ReaderOptions{}, numbers{n: 64})[0] }
	// One worker on the one CPU of the mask, another near the device.
	p, masks := pinned(t, Options{
		Workers: 2, AffinityMask: []int{last},
		CPUsNearDevice: func() ([]int, error) { return allowed[:1], nil },
	}, read)
	r := runner(t, p, 64)
	for seen := 0; seen < 64; seen += 4 {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		b.Release()
	}
	for mask := range masks() {
		require.Contains(t, []string{fmt.Sprint(last), fmt.Sprint(allowed[0])}, mask)
	}
	// Without a device, those beyond the mask may run anywhere.
	t.Setenv("DALI_AFFINITY_MASK", fmt.Sprint(last))
	p, masks = pinned(t, Options{Workers: 1}, read)
	runner(t, p, 64).mustNext(t)
	require.Equal(t, []string{fmt.Sprint(last)}, keys(masks()))
	t.Setenv("PLANKTON_AFFINITY_MASK", fmt.Sprint(allowed[0]))
	p, masks = pinned(t, Options{Workers: 1}, read)
	runner(t, p, 64).mustNext(t)
	require.Equal(t, []string{fmt.Sprint(allowed[0])}, keys(masks()))
	t.Setenv("PLANKTON_AFFINITY_MASK", "")
	t.Setenv("DALI_AFFINITY_MASK", "")
	p, masks = pinned(t, Options{Workers: 1}, read)
	runner(t, p, 64).mustNext(t)
	require.Equal(t, []string{affinity.Format(allowed)}, keys(masks()))
}

// near is a device that names CPUs.
type near struct {
	streams.Device
	cpus []int
	err  error
}

func (n near) NearCPUs() ([]int, error) { return n.cpus, n.err }

// A device's own CPUs are the default, as far as the process may run on them.
func TestCPUsThatTheDeviceNames(t *testing.T) {
	allowed := allowedCPUs(t)
	device := streamtest.New(1)
	defer device.Close()
	const missing = 4000
	for _, c := range []struct {
		names, want []int
	}{
		{allowed[:1], allowed[:1]},
		{[]int{missing, allowed[len(allowed)-1]}, allowed[len(allowed)-1:]},
		{[]int{missing}, allowed},
		{nil, allowed},
	} {
		got, err := (&Options{Device: near{Device: device, cpus: slices.Clone(c.names)}}).nearCPUs(allowed)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%v", c.names)
	}
	d := near{Device: device, err: errors.New("no driver")}
	_, err := New(Options{BatchSize: 1, SetAffinity: true, Device: d}, func(g *Graph) {
		g.Output("x", g.Read(ReaderOptions{}, numbers{n: 4})[0])
	})
	require.ErrorContains(t, err, "SetAffinity: the CPUs near test: no driver")
}

func (r *Runner) mustNext(t *testing.T) {
	b, err := r.Next(t.Context())
	require.NoError(t, err)
	b.Release()
	r.Park(t.Context())
}

func keys(m map[string]int) (names []string) {
	for k := range m {
		names = append(names, k)
	}
	return names
}

// Workers on threads of their own take turns at a sequence, and one of them may
// lose its goroutine.
func TestASequenceWithPinnedWorkers(t *testing.T) {
	allowed := allowedCPUs(t)
	ended := 0
	p, masks := pinned(t, Options{Workers: 3, AffinityMask: []int{allowed[0], allowed[len(allowed)-1], allowed[0]}, OnError: Skip}, func(g *Graph) Value {
		v := g.ReadSequence(ReaderOptions{}, count{n: 40, ended: &ended})[0]
		return g.Add(Op{
			Name: "exit", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int32}},
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
					if in[0].Int32s()[0]%9 == 8 {
						runtime.Goexit()
					}
					return out[0].CopyFrom(in[0])
				}), nil
			},
		})[0]
	})
	r := runner(t, p, 1<<40)
	for range 2 {
		valid := 0
		for {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			if b == nil {
				break
			}
			valid += b.NumValid()
			b.Release()
		}
		require.Equal(t, 36, valid)
		require.NoError(t, r.Reset(feedtest.Once(1<<40, 4)))
	}
	for mask := range masks() {
		require.Contains(t, []string{fmt.Sprint(allowed[0]), fmt.Sprint(allowed[len(allowed)-1])}, mask)
	}
}

func TestMasksThatCannotBe(t *testing.T) {
	allowedCPUs(t)
	for _, c := range []struct {
		o    Options
		env  string
		want string
	}{
		{Options{SetAffinity: true, AffinityMask: []int{900}}, "", "CPUs [900] of the affinity mask are offline, missing or not allowed to this process"},
		{Options{SetAffinity: true}, "0,x", `the environment variable PLANKTON_AFFINITY_MASK: affinity mask "0,x": "x" is no CPU number`},
		{Options{SetAffinity: true}, "901", "CPUs [901] of the affinity mask"},
		{Options{AffinityMask: []int{0}}, "", "AffinityMask or CPUsNearDevice is given without SetAffinity"},
		{Options{SetAffinity: true, CPUsNearDevice: func() ([]int, error) { return nil, nil }}, "", "CPUsNearDevice has named none"},
		{Options{SetAffinity: true, CPUsNearDevice: func() ([]int, error) { return nil, errors.New("no driver") }}, "", "the CPUs near the device: no driver"},
		{Options{SetAffinity: true, CPUsNearDevice: func() ([]int, error) { return []int{902}, nil }}, "", "CPUs [902]"},
	} {
		t.Setenv("PLANKTON_AFFINITY_MASK", c.env)
		c.o.BatchSize = 1
		_, err := New(c.o, func(g *Graph) { g.Output("n", g.Read(ReaderOptions{}, numbers{n: 1})[0]) })
		var build *BuildError
		require.ErrorAs(t, err, &build)
		require.ErrorContains(t, err, c.want)
	}
}

// A mask may be longer than there are workers, as one for a whole machine is; the rest
// is not even looked at.
func TestAMaskLongerThanTheWorkers(t *testing.T) {
	allowed := allowedCPUs(t)
	for _, mask := range [][]int{{allowed[0], 1 << 20}, append([]int{allowed[0]}, allowed...)} {
		p, masks := pinned(t, Options{Workers: 1, AffinityMask: mask}, func(g *Graph) Value {
			return g.Read(ReaderOptions{}, numbers{n: 8})[0]
		})
		take(t, runner(t, p, 8), 2)
		require.Len(t, masks(), 1)
		require.Contains(t, masks(), fmt.Sprint(allowed[0]))
	}
	_, err := New(Options{BatchSize: 1, Workers: 2, SetAffinity: true, AffinityMask: []int{allowed[0], 1 << 20}}, func(g *Graph) {
		g.Output("n", g.Read(ReaderOptions{}, numbers{n: 8})[0])
	})
	require.ErrorContains(t, err, "1048576", "what a worker is to run on is")
}

// CPUs may be taken away after the pipeline was built. No call goes on without them then.
func TestCPUsThatAreTakenAwayAfterTheBuild(t *testing.T) {
	allowedCPUs(t)
	ended := 0
	p, _ := pinned(t, Options{Workers: 2}, func(g *Graph) Value {
		return g.ReadSequence(ReaderOptions{}, count{n: 40, ended: &ended})[0]
	})
	p.compiled.Options().CPUs.Near = []int{1 << 20}
	r := runner(t, p, 1<<40)
	for range 2 {
		_, err := r.Next(t.Context())
		require.ErrorContains(t, err, "pipeline: SetAffinity: ")
	}
}
