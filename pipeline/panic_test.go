package pipeline

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

// A panic names the line of the program that panicked, or that called what did: not
// one of the standard library, and not one of this module.
func TestAPanicNamesTheProgramsLine(t *testing.T) {
	broken := errors.New("broken")
	var line int
	here := func() { // the next line
		_, _, line, _ = runtime.Caller(1)
		line++
	}
	for name, f := range map[string]func(){
		"itself": func() {
			here()
			panic("no")
		},
		"a runtime error": func() {
			var none []int
			here()
			_ = none[line]
		},
		"a nil pointer": func() {
			var none *int
			here()
			*none = 1
		},
		"the standard library": func() {
			here()
			_ = strings.Repeat("x", -1)
		},
		"called by the standard library": func() {
			slices.SortFunc([]int{2, 1}, func(int, int) int {
				here()
				panic("no")
			})
		},
		"this module": func() {
			x := new(datum.Tensor)
			here()
			x.Float32s()
		},
		"an error": func() {
			here()
			panic(broken)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var once sync.Once // other samples are made meanwhile
			p := squares(t, Options{BatchSize: 1, Workers: 1}, numbers{n: 1, read: func(context.Context, int64) error { once.Do(f); return nil }}, nil)
			defer p.Close()
			_, err := p.Run(t.Context())
			var panicked *PanicError
			require.ErrorAs(t, err, &panicked)
			_, file, _, _ := runtime.Caller(0)
			require.Equal(t, file, panicked.File)
			require.Equal(t, line, panicked.Line)
			require.ErrorContains(t, err, "/panic_test.go:")
			require.Equal(t, name == "an error", errors.Is(err, broken))
			require.NotErrorIs(t, err, io.EOF)
		})
	}
}

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
