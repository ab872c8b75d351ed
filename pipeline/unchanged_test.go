package pipeline

import (
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/compiled"
)

// contents returns a hash of all that a compiled pipeline holds. What belongs to the
// program, such as readers, devices and functions, counts by its identity.
func contents(p *compiled.Pipeline) uint64 {
	h := fnv.New64a()
	own := reflect.TypeFor[compiled.Pipeline]().PkgPath()
	var add func(v reflect.Value)
	add = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				add(v.Field(i))
			}
		case reflect.Slice:
			_, _ = fmt.Fprint(h, v.UnsafePointer(), v.Len(), v.Cap(), ";")
			for i := range v.Len() {
				add(v.Index(i))
			}
		case reflect.Pointer:
			_, _ = fmt.Fprint(h, v.UnsafePointer(), ";")
			if v.Type().Elem().PkgPath() == own && !v.IsNil() {
				add(v.Elem())
			}
		case reflect.Func, reflect.Map, reflect.Chan:
			_, _ = fmt.Fprint(h, v.UnsafePointer(), ";")
		case reflect.Interface:
			_, _ = fmt.Fprint(h, v.IsNil(), ";")
			if !v.IsNil() {
				_, _ = io.WriteString(h, v.Elem().Type().String())
				if v.Elem().Kind() == reflect.Pointer {
					add(v.Elem())
				}
			}
		default:
			_, _ = fmt.Fprint(h, v, ";")
		}
	}
	add(reflect.ValueOf(p))
	return h.Sum64()
}

// unchanging has a test fail that changes what New has compiled.
func unchanging(t testing.TB, p *Pipeline) {
	before := contents(p.compiled)
	t.Cleanup(func() {
		require.Equal(t, before, contents(p.compiled), "a run has changed what was compiled")
	})
}

// Each of what is compiled counts, or the check of every run in these tests would be worth
// nothing.
func TestContentsCountEverything(t *testing.T) {
	p := diamond(t, Options{BatchSize: 2})
	c := p.compiled
	before := contents(c)
	for what, change := range map[string]func() (undo func()){
		"an option": func() func() { c.Options().BatchSize++; return func() { c.Options().BatchSize-- } },
		"a node":    func() func() { c.Nodes()[0].Out[0]++; return func() { c.Nodes()[0].Out[0]-- } },
		"a value":   func() func() { s := &c.Values()[0].Spec; s.Classes++; return func() { s.Classes-- } },
		"an output": func() func() { c.Outputs()[0].Alias++; return func() { c.Outputs()[0].Alias-- } },
		"a reader": func() func() {
			r := &c.Readers()[0]
			old := r.Source
			r.Source = &numbers{n: 3}
			return func() { r.Source = old }
		},
		"an operator": func() func() { slices.Reverse(c.BatchOps()); return func() { slices.Reverse(c.BatchOps()) } },
	} {
		undo := change()
		require.NotEqual(t, before, contents(c), what)
		undo()
		require.Equal(t, before, contents(c), what)
	}
}
