package index

import (
	"testing"
	"testing/fstest"
)

// fuzzShards gives files of a name to Open: it must not fail otherwise than with an
// error, and all that it finds must lie in the file.
func fuzzShards(f *testing.F, name string) {
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := Open(t.Context(), fstest.MapFS{name: {Data: data}}, []string{name}, Options{})
		if err != nil {
			return
		}
		sound(t, x)
	})
}

// sound checks what holds for every index.
func sound(t *testing.T, x *Index) {
	for i := range x.Len() {
		o := x.Objects()[x.Object(i)]
		for f := range x.Fields() {
			p := x.Part(i, f)
			if p.Length > 0 && (p.Offset < 0 || p.Offset+p.Length > o.Size) {
				t.Fatalf("member %d of sample %d is %+v of %d bytes", f, i, p, o.Size)
			}
		}
		if x.Label(i) < NoLabel {
			t.Fatalf("label %d", x.Label(i))
		}
		_, _ = x.Name(i), x.Wrong(i)
	}
}
