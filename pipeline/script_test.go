package pipeline

import (
	"iter"

	"github.com/planktonml/plankton/pipeline/datum"
)

// script is a sequence of a function.
type script struct {
	samples iter.Seq2[func([]*datum.Tensor) error, error]
}

func (s script) Outputs() []datum.Spec                                  { return []datum.Spec{{DType: datum.Int32}} }
func (s script) Meta() datum.Meta                                       { return datum.Meta{} }
func (s script) Describe(int64) string                                  { return "script" }
func (s script) Samples() iter.Seq2[func([]*datum.Tensor) error, error] { return s.samples }
