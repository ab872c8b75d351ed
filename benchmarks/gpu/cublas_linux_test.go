package gpu

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/planktonml/plankton/internal/dynlib"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
)

// cublas returns functions of cuBLAS, to which programs with Gorgonia's tag cuda
// are linked.
func cublas(t *testing.T, functions ...string) ([]uintptr, error) {
	names := []string{"libcublas.so.12", "libcublas.so.13", "libcublas.so"}
	if fake {
		names = []string{library(t)}
	}
	var problems []error
	for _, name := range names {
		handle, err := dynlib.Open(name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		found := make([]uintptr, len(functions))
		for i, f := range functions {
			if found[i] = dynlib.Symbol(handle, f); found[i] == 0 {
				return nil, fmt.Errorf("%s has no %s", name, f)
			}
		}
		return found, nil
	}
	return nil, fmt.Errorf("there is no cuBLAS: %w", errors.Join(problems...))
}

// multiply lets cuBLAS multiply matrices in memory of the training's context, on a
// thread where that context is current or none is.
func (p *pair) multiply(t *testing.T, current bool) error {
	lib, err := cublas(t, "cublasCreate_v2", "cublasSgemm_v2", "cublasDestroy_v2")
	if err != nil {
		return err
	}
	create, sgemm, destroy := lib[0], lib[1], lib[2]
	setCurrent, synchronize := dynlib.Symbol(p.driver, "cuCtxSetCurrent"), dynlib.Symbol(p.driver, "cuCtxSynchronize")
	const n = 10
	factors, product := cudatest.Memory(t, p.training, 4*labels), cudatest.Memory(t, p.training, 4*n*n)
	if err := encode(t, p.training, factors, zeros(t, p.training)); err != nil {
		return err
	}
	at := func(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: what is current on the thread ends with it
		result <- func() error {
			if current {
				if code := dynlib.Call(setCurrent, p.training.Context()); code != 0 {
					return fmt.Errorf("cuCtxSetCurrent returned %d", code)
				}
			}
			var handle uintptr
			if code := dynlib.Call(create, uintptr(unsafe.Pointer(&handle))); code != 0 {
				return fmt.Errorf("cublasCreate returned %d", code)
			}
			var alpha, beta float32 = 1. / n, 0
			multiplied := dynlib.Call(sgemm, handle, 0, 0, n, n, n, uintptr(unsafe.Pointer(&alpha)), at(factors), n,
				at(factors), n, uintptr(unsafe.Pointer(&beta)), at(product), n)
			waited := dynlib.Call(synchronize)
			dynlib.Call(destroy, handle)
			if multiplied != 0 || waited != 0 {
				return fmt.Errorf("cublasSgemm returned %d, cuCtxSynchronize %d", multiplied, waited)
			}
			return nil
		}()
	}()
	if err := <-result; err != nil {
		return err
	}
	return ones(t, p.training, product)
}
