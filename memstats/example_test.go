package memstats_test

import (
	"fmt"

	"github.com/planktonml/plankton/memstats"
)

func Example() {
	var pool memstats.Pool
	var buf memstats.Buffer
	for _, n := range []int{100, 4000, 250} {
		copy(buf.Resize(&pool, n), "sample")
	}
	fmt.Println(pool.Stats().Live, "bytes after", pool.Stats().Allocations, "allocations")
	buf.Free()
	fmt.Println(pool.Stats().Live, "bytes")
	// Output:
	// 4000 bytes after 2 allocations
	// 0 bytes
}
