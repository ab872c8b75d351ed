//go:build mpi

package main

/*
#cgo pkg-config: mpi-c
#include <mpi.h>

// MPI's constants are macros, which cgo does not see.
static int start(int *rank, int *size) {
	int provided;
	int err = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
	if (err == MPI_SUCCESS) err = MPI_Comm_rank(MPI_COMM_WORLD, rank);
	if (err == MPI_SUCCESS) err = MPI_Comm_size(MPI_COMM_WORLD, size);
	return err;
}

static int sum(float *v, int n) {
	return MPI_Allreduce(MPI_IN_PLACE, v, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/planktonml/plankton/shard"
)

// MPI is called by the thread that started it: the main goroutine stays there.
func init() { runtime.LockOSThread() }

// ranks connects this process with the other ranks. Its methods belong to the
// main goroutine, and all ranks call them in the same order.
type ranks struct{}

func join(w shard.World) (ranks, error) {
	var rank, size C.int
	if code := C.start(&rank, &size); code != C.MPI_SUCCESS {
		return ranks{}, fmt.Errorf("MPI does not start: error %d", code)
	}
	if int(rank) != w.Rank || int(size) != w.Size {
		return ranks{}, fmt.Errorf("MPI says rank %d of %d, but this is %v: was the program built with the MPI of mpirun?", rank, size, w)
	}
	return ranks{}, nil
}

// sum replaces v by the sum over all ranks.
func (ranks) sum(v []float32) error {
	if code := C.sum((*C.float)(unsafe.Pointer(unsafe.SliceData(v))), C.int(len(v))); code != C.MPI_SUCCESS {
		return fmt.Errorf("MPI_Allreduce: error %d", code)
	}
	return nil
}

// leave ends the connection.
func (ranks) leave() error {
	if code := C.MPI_Finalize(); code != C.MPI_SUCCESS {
		return fmt.Errorf("MPI_Finalize: error %d", code)
	}
	return nil
}
