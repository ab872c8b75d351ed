package report

import (
	"fmt"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Options configures a [Recorder]. The zero value is for one pipeline.
type Options struct {
	Title string // of the page; default "plankton"

	// Pipeline is the place of the recorded pipeline among those of its loader.
	Pipeline int

	// Spans says that the work of each operator on each sample is recorded, for the trace: its latest
	// 150,000 spans. The time of every sample is taken then, which cheap samples feel; for runs that last
	// leave it out. Batches, waits and streams are recorded in any case.
	Spans bool

	// Image is the output that is drawn, of one or three channels in the layout HWC or CHW, as uint8 or
	// float32. Default the first one that is such. One in a device's memory is not drawn.
	Image string
	// Label is the output of the class under a picture, a number or one-hot. Default the one that is called
	// "label", or the first one with classes. One in a device's memory is not shown.
	Label string
	// Mean and Std are what the pixels went through, (pixel - Mean) / Std, one value for each channel or one for
	// all. Without them pixels of type float32 are stretched from their least to their greatest value.
	Mean, Std []float64
	// Samples is how many of a batch are shown; default 12, negative for none.
	Samples int
}

const defaultSamples = 12

func (o *Options) setDefaults() {
	if o.Title == "" {
		o.Title = "plankton"
	}
	switch {
	case o.Samples == 0:
		o.Samples = defaultSamples
	case o.Samples < 0:
		o.Samples = 0
	}
}

// check says what of the options does not fit a pipeline.
func (o *Options) check(p *pipeline.Pipeline) error {
	for _, named := range []struct{ field, name string }{{"Image", o.Image}, {"Label", o.Label}} {
		if named.name != "" && !slices.Contains(p.Outputs(), named.name) {
			return fmt.Errorf("%s is %q; the pipeline has the outputs %q", named.field, named.name, p.Outputs())
		}
	}
	image, _ := o.outputs(p)
	if image == "" {
		return nil
	}
	if spec := p.Spec(image); len(spec.Shape) == 3 {
		channels := spec.Shape[2]
		if spec.Layout == datum.CHW {
			channels = spec.Shape[0]
		}
		if channels > 0 { // else each sample is looked at
			return normalisation{o.Mean, o.Std}.check(channels)
		}
	}
	return nil
}
