package stats

import (
	"fmt"
	"time"

	"github.com/planktonml/plankton/internal/printable"
)

// A Warning is what an operator said of a sample that it made all the same, such as
// a decoder that kept a damaged picture.
type Warning struct {
	Source string `json:"source"` // where the sample comes from, as in pipeline.SampleError
	Index  int64  `json:"index"`  // in the first reader's source
	Op     string `json:"op"`
	Text   string `json:"text"`
}

// Warnings counts warnings.
type Warnings struct {
	Count int64     `json:"count"`           // warnings of samples that became rows
	First []Warning `json:"first,omitempty"` // of the first that each worker met, MaxWarnings at the most, sorted by source
}

// MaxWarnings is how many warnings a worker keeps, and how many a Run shows.
const MaxWarnings = 16

// WarningEvent is a warning of a sample that became a row.
type WarningEvent struct {
	Warning
	Time        time.Time
	Epoch, Step int64
	Row         int
}

// String says how many warnings there are, and the first of them.
func (s Warnings) String() string {
	switch {
	case s.Count == 0:
		return "no warnings"
	case len(s.First) == 0:
		return fmt.Sprintf("%d warnings", s.Count)
	}
	v := s.First[0]
	return fmt.Sprintf("%d warnings, such as %s: %s: %s", s.Count, printable.Name(v.Source), v.Op, printable.Line(v.Text))
}
