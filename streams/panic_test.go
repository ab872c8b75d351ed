package streams

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFramesOfLibraries(t *testing.T) {
	for _, c := range []struct {
		function, file, library string
		want                    bool
	}{
		{"sort.Sort", "/usr/lib/go/src/sort/sort.go", "/usr/lib/go/src/", true},
		{"main.jitter", "/home/u/prog/main.go", "/usr/lib/go/src/", false},
		{"newcomer/aug.jitter", "/home/u/prog/aug/jitter.go", "/usr/lib/go/src/", false},
		{module + "pipeline.(*Tensor).typed", "/x/pipeline/tensor.go", "/usr/lib/go/src/", true},
		{module + "pipeline.TestX.func1", "/x/pipeline/x_test.go", "/usr/lib/go/src/", false},
		{module + "examples/distributed.main", "/x/examples/distributed/main.go", "/usr/lib/go/src/", false},
		// -trimpath
		{"sort.Sort", "sort/sort.go", "", true},
		{"main.jitter", "./main.go", "", false},
		{"main.jitter", "prog/main.go", "", false},
		{"example.com/aug.jitter", "example.com/aug/jitter.go", "", false},
	} {
		require.Equal(t, c.want, fromLibrary(runtime.Frame{Function: c.function, File: c.file}, c.library), "%+v", c)
	}
}
