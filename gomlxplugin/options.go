package gomlxplugin

import (
	"errors"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
)

// Options configures New and NewDistributed. Inputs has no default.
type Options struct {
	// Name is what GoMLX calls the data set, for instance in the names of metrics; its first three letters
	// are the short name. Default "plankton".
	Name string

	// Inputs names the outputs of the pipeline that become inputs of the model, in this
	// order: shape [batch, …], in their element type. Labels names those that become labels. A
	// label of a number per sample has the shape [batch, 1], as GoMLX's losses of class
	// numbers want it.
	Inputs, Labels []string

	// Rows says what becomes of rows that are not valid. Default: Valid.
	Rows Rows

	// Spec is train.Batch.Spec of every batch. A trainer demands the same number of labels of
	// all batches with the same Spec. Default: nil where Rows is Valid, else Rows, so that one
	// trainer can learn with Masked and test with Trimmed.
	Spec any

	// Endless has an iteration go on with the next epoch at the end of each, for ever, as
	// train.Loop.RunSteps needs it. Default: an iteration is what is left of one epoch.
	Endless bool
}

// Rows says what becomes of rows that are not valid: those of a last batch that is not full, of a rank that ran out
// before others and of samples that were skipped.
type Rows uint8

const (
	// Valid is for loaders that have none (iterator.Loader.Uneven); others are refused.
	Valid Rows = iota
	// Masked adds a mask to the labels, bool [batch], which GoMLX's losses and metrics know.
	// The loss is the mean over the valid rows, 0 if there are none.
	Masked
	// Weighted adds weights to the labels, float32 [batch]: batch/valid in the rows that are
	// valid and 0 in others. With GoMLX's losses, which divide by the batch size, the loss is
	// the mean over the valid rows, 0 if there are none.
	Weighted
	// Trimmed leaves these rows out, so that the batch is smaller, and batches without a valid
	// row with them. GoMLX compiles the model for each size that comes. Metrics are exact.
	Trimmed
)

var rowsNames = [...]string{"valid", "masked", "weighted", "trimmed"}

// String returns "valid", "masked", "weighted" or "trimmed".
func (r Rows) String() string {
	if int(r) < len(rowsNames) {
		return rowsNames[r]
	}
	return fmt.Sprintf("Rows(%d)", uint8(r))
}

var (
	// ErrUnmasked is a loader whose batches may have rows that are not valid, with rows that
	// would count as data.
	ErrUnmasked = errors.New("rows that are not valid would count as data")
	// ErrMemory is a pipeline whose outputs do not lie in a backend's memory.
	ErrMemory = errors.New("its batches are in no memory of GoMLX: set pipeline.Options.OutputMemory to NewMemory(backend, 0)")
	// ErrRagged is an output whose samples differ in shape.
	ErrRagged = errors.New("its samples differ in shape, but a tensor has one: resize or crop them to one size in the pipeline, or leave the output out")
	// ErrDevice is an output in the memory of pipeline.Options.Device.
	ErrDevice = errors.New("it is in the memory of the pipeline's device, which GoMLX cannot reach: leave ops.ToDevice out")
)

// OutputError is an output that cannot become a tensor.
type OutputError struct {
	Output string
	Err    error
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("gomlxplugin: output %q: %v", e.Output, e.Err)
}
func (e *OutputError) Unwrap() error { return e.Err }

// check refuses options that do not fit the loader.
func (o *Options) check(loader *iterator.Loader) error {
	switch {
	case loader == nil:
		return errors.New("gomlxplugin: there is no loader")
	case len(o.Inputs) == 0:
		return fmt.Errorf("gomlxplugin: Options.Inputs names no output: GoMLX needs at least one, of %q", loader.Pipelines()[0].Outputs())
	case int(o.Rows) >= len(rowsNames):
		return fmt.Errorf("gomlxplugin: Options.Rows is %d; it must be Valid, Masked, Weighted or Trimmed", o.Rows)
	case o.Rows == Valid && loader.Uneven():
		return fmt.Errorf("gomlxplugin: %w: batches of this loader may have rows without a sample (last batch %s, on error %s): set Options.Rows to Masked, Weighted or Trimmed, or use the policy drop or fill",
			ErrUnmasked, loader.Options().LastBatch, loader.Pipelines()[0].Options().OnError)
	case (o.Rows == Masked || o.Rows == Weighted) && len(o.Labels) == 0:
		return fmt.Errorf("gomlxplugin: Options.Rows is %s, which GoMLX looks for behind a label, but Options.Labels names none", o.Rows)
	}
	for i, name := range slices.Concat(o.Inputs, o.Labels) {
		if slices.Contains(slices.Concat(o.Inputs, o.Labels)[:i], name) {
			return &OutputError{name, errors.New("Inputs and Labels name it twice, but a batch has its memory once: give it a second output of another name in the pipeline")}
		}
		for _, p := range loader.Pipelines() {
			if err := checkOutput(p, name); err != nil {
				return &OutputError{name, err}
			}
		}
	}
	return nil
}

func checkOutput(p *pipeline.Pipeline, name string) error {
	if !slices.Contains(p.Outputs(), name) {
		return fmt.Errorf("the pipeline has no such output; it has %q", p.Outputs())
	}
	spec := p.Spec(name)
	switch {
	case p.OnDevice(name):
		return ErrDevice
	case !spec.Dense():
		return fmt.Errorf("%w (%s)", ErrRagged, spec)
	case slices.Contains(spec.Shape, 0):
		return fmt.Errorf("its samples are empty (%s)", spec)
	}
	return nil
}
