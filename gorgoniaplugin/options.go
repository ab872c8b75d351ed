package gorgoniaplugin

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"
)

// Option configures New and Bind.
type Option func(*config)

type config struct {
	outputs       []string
	weights, mask *gorgonia.Node
	labels        string
	unmasked      bool
}

// Outputs names the outputs that New makes nodes for; default all of them.
func Outputs(names ...string) Option {
	return func(c *config) { c.outputs = names }
}

// WithWeights names an existing node for the row weights, a vector of batch
// size: that of another feed, where two share a graph. Default: Feed.Weights
// makes one.
func WithWeights(n *gorgonia.Node) Option {
	return func(c *config) { c.weights = n }
}

// WithMask names an existing node for the row mask, a vector of batch size.
// Default: Feed.Mask makes one.
func WithMask(n *gorgonia.Node) Option {
	return func(c *config) { c.mask = n }
}

// LabelsMasked declares that every row's loss is a sum of products with the
// named output, its one-hot label, and that the cost is divided by the sum of the
// labels:
//
//	cost = HadamardDiv(Neg(Sum(HadamardProd(logp, y))), Sum(y))
//
// Rows that are not valid then count for nothing, because their labels are zero.
// This form divides by zero when a batch has no valid row at all: where that can
// happen, on a rank that ran out before others or when samples are skipped, step
// over such batches (Batch.NumValid) or use Feed.Weights.
func LabelsMasked(output string) Option {
	return func(c *config) { c.labels = output }
}

// Unmasked declares that rows that are not valid need no care in the graph, for
// instance because the program looks at Batch.Mask when it reads the results.
func Unmasked() Option {
	return func(c *config) { c.unmasked = true }
}

func newConfig(opts []Option) config {
	var c config
	for _, o := range opts {
		o(&c)
	}
	return c
}

// declared reports whether the user has declared that rows that are not valid do
// no harm; labels must then be one-hot labels of the feed.
func (c *config) declared(inputs []*input) (bool, error) {
	if c.labels == "" {
		return c.unmasked, nil
	}
	for _, in := range inputs {
		if in.output != c.labels {
			continue
		}
		if len(in.shape) < 2 {
			return false, &BindError{Output: c.labels, Err: errors.New("LabelsMasked needs one-hot labels; a row of this output is a single number, for which zero is a value: use Weights or Mask")}
		}
		return true, nil
	}
	return false, &BindError{Output: c.labels, Err: fmt.Errorf("LabelsMasked names it, but the feed has no such output; it has %q", names(inputs))}
}

// names returns the outputs that inputs show.
func names(inputs []*input) []string {
	var s []string
	for _, in := range inputs {
		if in.output != "" {
			s = append(s, in.output)
		}
	}
	return s
}
