package parquet

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

// No file makes the reader panic or wait; what it takes for a table has rows that are read
// or fail.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"plain", "index_brotli", "encodings", "odd", "huggingface"} {
		text, err := os.ReadFile("testdata/" + name + ".parquet")
		if err != nil {
			f.Fatal(err)
		}
		for at := range 4 {
			f.Add(text, uint32(at*len(text)/4), byte(at))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, at uint32, change byte) {
		if len(text) > 1<<20 {
			t.Skip("the file is long")
		}
		if len(text) > 0 {
			text[int(at)%len(text)] ^= change
		}
		place := fstest.MapFS{"a.parquet": &fstest.MapFile{Data: text}}
		ctx := t.Context()
		src, err := Open(ctx, Options{FS: place, Columns: []readers.Field{{Name: "int32"}}})
		if err != nil {
			return
		}
		var fields []readers.Field
		for _, l := range src.files[0].leaves {
			if l.wrong == nil {
				fields = append(fields, readers.Field{Name: l.name})
			}
		}
		for _, field := range fields {
			src, err := Open(ctx, Options{FS: place, Columns: []readers.Field{field}, CacheBytes: 1 << 16})
			if err != nil {
				continue
			}
			out := []*datum.Tensor{new(datum.Tensor)}
			out[0].Declare(&src.Outputs()[0])
			for row := range min(src.Len(), 50) {
				datum.Begin(out)
				_ = src.Read(ctx, row, out)
			}
		}
	})
}

// Levels are what a writer wrote, and nothing is read behind their bytes.
func FuzzLevels(f *testing.F) {
	f.Add([]byte{3, 0x88, 0xc6, 0xfa}, byte(3), byte(8))
	f.Add([]byte{8, 5, 200, 1, 4}, byte(3), byte(100))
	f.Fuzz(func(t *testing.T, text []byte, bits, n byte) {
		count := 0
		err := decodeRuns(text, uint(bits%33), int(n), func(i int, _ uint32) {
			if i != count {
				t.Fatalf("number %d comes at %d", i, count)
			}
			count++
		})
		if err == nil && count != int(n) {
			t.Fatalf("%d numbers of %d", count, n)
		}
	})
}
