package memstats_test

import (
	"fmt"

	"github.com/planktonml/plankton/memstats"
)

func Example() {
	var pool memstats.Pool
	var buf memstats.Buffer
	for _, n := range []int{100, 4000, 250} {
		mem, err := buf.Resize(&pool, n)
		if err != nil {
			fmt.Println(err)
			return
		}
		copy(mem, "sample")
	}
	fmt.Println(pool.Stats().Live, "bytes after", pool.Stats().Allocations, "allocations")
	buf.Free()
	fmt.Println(pool.Stats().Live, "bytes")
	// Output:
	// 4000 bytes after 2 allocations
	// 0 bytes
}

func ExampleChecked() {
	checked := memstats.NewChecked(memstats.Heap{})
	pool, err := memstats.NewPool(memstats.PoolOptions{Allocator: checked})
	if err != nil {
		fmt.Println(err)
		return
	}
	var buf memstats.Buffer
	if _, err := buf.Resize(pool, 512); err != nil {
		fmt.Println(err)
	}
	fmt.Println(checked.Live()[0].Size, "bytes are not freed yet")
	buf.Free()
	fmt.Println(checked.Check())
	// Output:
	// 512 bytes are not freed yet
	// <nil>
}
