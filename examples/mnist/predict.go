package main

import (
	"context"
	"fmt"
	"io"

	"gorgonia.org/gorgonia"

	"github.com/planktonml/plankton/gorgoniaplugin"
)

// predict reads one picture with a graph of its own for batches of one, which
// shares the parameters.
func predict(ctx context.Context, out io.Writer, params parameters, s set) error {
	loader, err := s.open(1)
	if err != nil {
		return err
	}
	defer loader.Close()
	g := gorgonia.NewGraph()
	feed, err := gorgoniaplugin.New(g, loader, gorgoniaplugin.Outputs("image"))
	if err != nil {
		return err
	}
	probability := gorgonia.Must(gorgonia.SoftMax(forward(feed.Node("image"), params.nodes(g)), 1))
	var result gorgonia.Value
	gorgonia.Read(probability, &result)
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	if err := feed.Attach(vm); err != nil {
		return err
	}
	defer feed.Close()

	for b, err := range feed.Epoch(ctx) {
		if err != nil {
			return err
		}
		if err := vm.RunAll(); err != nil {
			return err
		}
		p := result.Data().([]float32)
		digit := largest(p)
		fmt.Fprint(out, drawing(b.Uint8s("pixels")))
		fmt.Fprintf(out, "this is a %d (%.1f %%); the label says %d\n",
			digit, 100*p[digit], largest(b.Float32s("label")))
		break
	}
	return nil
}

// drawing writes a picture with characters, the darker the brighter the pixel.
func drawing(pixels []uint8) string {
	const ramp = " .:-=+*#%@"
	text := make([]byte, 0, side*(side+1))
	for i, v := range pixels {
		text = append(text, ramp[int(v)*len(ramp)/256])
		if i%side == side-1 {
			text = append(text, '\n')
		}
	}
	return string(text)
}

// largest returns the index of the largest of some numbers.
func largest(v []float32) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}
