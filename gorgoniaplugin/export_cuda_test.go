//go:build cuda

package gorgoniaplugin

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// OnHost says why op reads its input on the host, with these kernels.
func OnHost(op gorgonia.Op, of tensor.Dtype, kernels ...string) string {
	r := reader{kernels: map[string]bool{}}
	for _, k := range kernels {
		r.kernels[k] = true
	}
	return r.onHost(op, of)
}

// Revive starts the thread of a machine's engine again, which has ended.
func Revive(vm gorgonia.VM) { go vm.(gorgonia.CUDAMachine).Engines()[0].Run() }

// Forget lets a feed forget its machine, so that it does not wait for it, until
// the result is called.
func Forget(f *Feed) (remember func()) {
	vm := f.machine.vm
	f.machine.vm = nil
	return func() { f.machine.vm = vm }
}
