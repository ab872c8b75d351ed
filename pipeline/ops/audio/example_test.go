package audio_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops/audio"
	"github.com/planktonml/plankton/pipeline/readers"
)

// The spectrogram of a tone that swings 8 times in 64 samples is loudest at frequency 8.
func Example() {
	tone := make([]float32, 256)
	for i := range tone {
		tone[i] = float32(math.Sin(2 * math.Pi * 8 * float64(i) / 64))
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		signal := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(tone, len(tone)))[0]
		g.Output("power", audio.Spectrogram(g, signal, audio.SpectrogramOptions{WindowLength: 64, WindowStep: 32}))
	})
	if err != nil {
		log.Fatal(err)
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	for b, err := range loader.Epoch(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		shape := b.Sample("power", 0).Shape() // frequency × time
		power, loudest := b.Sample("power", 0).Float32s(), 0
		for f := range shape[0] {
			if power[f*shape[1]+1] > power[loudest*shape[1]+1] {
				loudest = f
			}
		}
		fmt.Println(shape[0], "frequencies, loudest at", loudest)
	}
	// Output:
	// 33 frequencies, loudest at 8
}
