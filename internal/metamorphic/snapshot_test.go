package metamorphic

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
)

// snapshot writes down all that a batch shows: a line for each row of each pipeline.
func snapshot(b *iterator.Batch) string {
	var out strings.Builder
	for i := range b.Parts() {
		p := b.Part(i)
		fmt.Fprintf(&out, "part %d epoch %d step %d valid %d\n", i, p.Epoch(), p.Step(), p.NumValid())
		for row, valid := range p.Mask() {
			fmt.Fprintf(&out, "row %d id %d %t %s", row, p.IDs()[row], valid, sampleError(p.Errors()[row]))
			for _, name := range p.Names() {
				t := p.Sample(name, row)
				fmt.Fprintf(&out, " %s=%v%v:%s", name, t.DType(), t.Shape(), content(t.Bytes()))
				if !valid && bytes.Count(t.Bytes(), []byte{0}) != t.Len()*t.DType().Size() {
					out.WriteString(" NOT ZERO")
				}
			}
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// content is bytes as they are, or where there are many a digest of them.
func content(mem []byte) string {
	if len(mem) <= 16 {
		return fmt.Sprintf("%x", mem)
	}
	return fmt.Sprintf("#%x", digestBytes(0, mem))
}

// sampleError writes down a sample's error without the stack of a panic.
func sampleError(err *pipeline.SampleError) string {
	if err == nil {
		return "ok"
	}
	return fmt.Sprintf("[%s|%d|%s|%v]", err.Source, err.Index, err.Op, err.Err)
}

// wholeFailed stands for the error of an operator for whole batches.
const wholeFailed = "an operator for whole batches failed"

// explain writes down an error that ended a loop. Defined says that it is the
// definition's: a sample's, or that of an operator for whole batches. Where several of
// those fail for one batch, any of them may be first.
func explain(err error) (text string, defined bool) {
	var bad *pipeline.SampleError
	switch {
	case errors.As(err, &bad):
		return sampleError(bad), true
	case errors.Is(err, errRefused), strings.Contains(err.Error(), panics):
		return wholeFailed, true
	}
	return err.Error(), false
}

// difference shows the first line in which two snapshots differ.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			return fmt.Sprintf("\nwant %s\ngot  %s", w[i], strings.Join(g[min(i, len(g)):min(i+1, len(g))], ""))
		}
	}
	return "\ngot more: " + strings.Join(g[len(w):], "\n")
}
