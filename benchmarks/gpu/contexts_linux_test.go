package gpu

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/dynlib"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
)

// Gorgonia ends every element-wise operator with cuCtxSynchronize, which waits for
// all streams of its context, uploads of the next batches included. A pipeline in a
// second context escapes that if both contexts reach the memory of a batch. What they
// reach is asked here; each question has a process of its own, since a wrong address
// ends the context that used it.

// pair is two contexts on the GPU: that of the training, and that of the pipeline.
type pair struct {
	training, pipeline *cuda.Device
	driver             uintptr // the library
}

// call calls a function of the driver in the context of d.
//
//go:uintptrescapes
func (p *pair) call(d *cuda.Device, name string, args ...uintptr) error {
	fn := dynlib.Symbol(p.driver, name)
	if fn == 0 {
		return fmt.Errorf("the driver has no %s", name)
	}
	return d.Do(func() error {
		if code := dynlib.Call(fn, args...); code != 0 {
			return fmt.Errorf("%s returned %d", name, code)
		}
		return nil
	})
}

// labels is how many labels the kernel of the questions reads.
const labels = 1000

// encode lets a kernel in the context of d write labels as vectors of one class, so
// that dst is filled with ones.
func encode(t *testing.T, d *cuda.Device, dst, from []byte) error {
	valid := cudatest.Memory(t, d, labels)
	s := cudatest.Stream(t, d)
	s.Do(cudatest.On(func(q *cuda.Queue) error {
		return errors.Join(q.Fill(valid, 1), q.OneHot(dst, from, valid, &cuda.OneHot{N: labels, Labels: 1, Classes: 1, On: 1}))
	}))
	return s.Close()
}

// zeros returns labels in memory of d that are all of class 0.
func zeros(t *testing.T, d *cuda.Device) []byte {
	mem := cudatest.Memory(t, d, 4*labels)
	cudatest.Run(t, d, func(q *cuda.Queue) error { return q.Fill(mem, 0) })
	return mem
}

// ones reads memory in the context of d and returns an error unless all of it is
// the number one.
func ones(t *testing.T, d *cuda.Device, mem []byte) error {
	host := cudatest.Locked(t, d, len(mem))
	s := cudatest.Stream(t, d)
	s.Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(host, mem) }))
	if err := s.Close(); err != nil {
		return err
	}
	for i, v := range unsafe.Slice((*float32)(unsafe.Pointer(&host[0])), len(host)/4) {
		if v != 1 {
			return fmt.Errorf("number %d is %g", i, v)
		}
	}
	return nil
}

var questions = []struct {
	text string
	ask  func(t *testing.T, p *pair) error // nil is a yes
}{
	{"does the pipeline's context copy to device memory of the training's?", func(t *testing.T, p *pair) error {
		dst, host := cudatest.Memory(t, p.training, 4*labels), cudatest.Locked(t, p.pipeline, 4*labels)
		for i := range labels {
			copy(host[4*i:], []byte{0, 0, 0x80, 0x3f}) // 1 as float32
		}
		s := cudatest.Stream(t, p.pipeline)
		s.Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(dst, host) }))
		return errors.Join(s.Close(), ones(t, p.training, dst))
	}},
	{"does a kernel in the pipeline's context write device memory of the training's?", func(t *testing.T, p *pair) error {
		dst := cudatest.Memory(t, p.training, 4*labels)
		return errors.Join(encode(t, p.pipeline, dst, zeros(t, p.pipeline)), ones(t, p.training, dst))
	}},
	{"does it after cuCtxEnablePeerAccess?", func(t *testing.T, p *pair) error {
		if err := p.call(p.pipeline, "cuCtxEnablePeerAccess", p.training.Context(), 0); err != nil {
			return err
		}
		dst := cudatest.Memory(t, p.training, 4*labels)
		return errors.Join(encode(t, p.pipeline, dst, zeros(t, p.pipeline)), ones(t, p.training, dst))
	}},
	{"does a kernel in the training's context read page-locked memory of the pipeline's?", func(t *testing.T, p *pair) error {
		host, dst := cudatest.Locked(t, p.pipeline, 4*labels), cudatest.Memory(t, p.training, 4*labels)
		clear(host)
		return errors.Join(encode(t, p.training, dst, host), ones(t, p.training, dst))
	}},
	{"does a kernel in the training's context read managed memory that one in the pipeline's wrote?", func(t *testing.T, p *pair) error {
		const global = 1 // CU_MEM_ATTACH_GLOBAL
		var mem *byte
		if err := p.call(p.training, "cuMemAllocManaged", uintptr(unsafe.Pointer(&mem)), 4*labels, global); err != nil {
			return err
		}
		shared := unsafe.Slice(mem, 4*labels)
		err := errors.Join(encode(t, p.pipeline, shared, zeros(t, p.pipeline)), ones(t, p.training, shared))
		return errors.Join(err, p.call(p.training, "cuMemFree_v2", uintptr(unsafe.Pointer(mem))))
	}},
	{"does cuBLAS multiply in the training's context if it was opened on a thread without one, where Gorgonia opens it?", func(t *testing.T, p *pair) error {
		return p.multiply(t, false)
	}},
	{"does it if it was opened on a thread of that context, where Feed.Attach opens it again?", func(t *testing.T, p *pair) error {
		return p.multiply(t, true)
	}},
}

// openPair opens two contexts; neither is the primary one, as with Gorgonia's.
func openPair(t *testing.T) *pair {
	p := &pair{training: open(t, cuda.Own), pipeline: open(t, cuda.Own)}
	var err error
	p.driver, err = dynlib.Open(library(t))
	require.NoError(t, err)
	return p
}

// TestQuestion answers the question that PLANKTON_QUESTION holds. An answer that is no
// is not a failure.
func TestQuestion(t *testing.T) {
	for _, q := range questions {
		if q.text != os.Getenv("PLANKTON_QUESTION") {
			continue
		}
		answer := "yes"
		if err := q.ask(t, openPair(t)); err != nil {
			answer = "no: " + strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		fmt.Printf("question: %s %s\n", q.text, answer)
		return
	}
	t.Skip("PLANKTON_QUESTION holds no question: TestContexts asks them")
}

// TestContexts asks every question.
func TestContexts(t *testing.T) {
	open(t, cuda.Own) // or there is nobody to ask
	self, err := os.Executable()
	require.NoError(t, err)
	for _, q := range questions {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestQuestion$", "-test.timeout=30s")
		cmd.Env = append(os.Environ(), "PLANKTON_QUESTION="+q.text)
		// After a no the context is gone, and what the process does at its end fails.
		out, err := cmd.CombinedOutput()
		answer := fmt.Sprintf("question: %s no answer: %v", q.text, err)
		if at := bytes.Index(out, []byte("question: ")); at >= 0 {
			line, _, _ := bytes.Cut(out[at:], []byte("\n"))
			answer = string(line)
		}
		fmt.Println(answer)
	}
}

// place is where a pipeline uploads: in the training's context or in its own.
type place struct {
	name   string
	device *cuda.Device
}

func (p *pair) places() []place {
	return []place{{"the same context", p.training}, {"a second context", p.pipeline}}
}

// TestSynchronize tells how long cuCtxSynchronize of the training's context takes
// while a stream uploads, in the same context and in another.
func TestSynchronize(t *testing.T) {
	p := openPair(t)
	n := size(64<<20, 4096)
	for _, at := range p.places() {
		dst, host, s := cudatest.Memory(t, at.device, n), cudatest.Locked(t, at.device, n), cudatest.Stream(t, at.device)
		began := time.Now()
		for range 20 {
			s.Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(dst, host) }))
		}
		issued := make(chan struct{})
		s.Do(func(*streams.Context) error { close(issued); return nil })
		<-issued
		require.NoError(t, p.call(p.training, "cuCtxSynchronize"))
		waited := time.Since(began)
		require.NoError(t, s.Close())
		fmt.Printf("question: does cuCtxSynchronize wait for uploads in %s? it returns %v after they began, they take %v\n", at.name, waited, time.Since(began))
	}
}

// TestContextsOverlap tells how much of the shorter of uploads and kernels is hidden
// behind the other: 0 where they take turns, 1 where it costs nothing.
func TestContextsOverlap(t *testing.T) {
	p := openPair(t)
	batch := size(64, 1)
	work, n := imageNet(batch), batch*256*256*3
	dst, src, at := cudatest.Memory(t, p.training, batch*224*224*3*4), cudatest.Memory(t, p.training, n), windows(t, p.training, batch)
	for _, where := range p.places() {
		d := where.device
		up, host := cudatest.Memory(t, d, n), cudatest.Locked(t, d, n)
		upload := cudatest.On(func(q *cuda.Queue) error { return q.Copy(up, host) })
		compute := cudatest.On(func(q *cuda.Queue) error { return q.CropMirrorNormalize(dst, src, at, work) })
		copies, kernels := cudatest.Stream(t, d), cudatest.Stream(t, p.training)
		run := func(uploads, computes int) time.Duration {
			began := time.Now()
			for range uploads {
				copies.Do(upload)
			}
			for range computes {
				kernels.Do(compute)
			}
			require.NoError(t, errors.Join(copies.Synchronize(t.Context()), kernels.Synchronize(t.Context())))
			return time.Since(began)
		}
		run(2, 2)
		uploads := size(200, 4)
		copying := run(uploads, 0)
		launches := 1 + int(float64(copying)/float64(run(0, uploads))*float64(uploads)) // kernels take about as long
		computing, both := run(0, launches), run(uploads, launches)
		fmt.Printf("overlap of uploads in %s with kernels: uploads %v, kernels %v, both %v: %.0f %% of the shorter is hidden\n",
			where.name, copying, computing, both, 100*float64(copying+computing-both)/float64(min(copying, computing)))
		require.NoError(t, errors.Join(copies.Close(), kernels.Close()))
	}
}
