// Command cut is the workload train with a cut: workers decode, crop and resize, bytes cross,
// and the training program mirrors and normalises. tfservice.py runs it as worker and as
// training program.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/planktonml/plankton/internal/usage"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/remote"
)

const side = 224

func main() {
	data := flag.String("data", "", "folder of JPEG files")
	serve := flag.Bool("serve", false, "be a worker")
	worker := flag.String("worker", "", "address of a worker, which makes all rows")
	epochs := flag.Int("epochs", 2, "times that every picture is made; the first is not timed")
	flag.Parse()
	o := pipeline.Options{BatchSize: 64, PrefetchDepth: 2, Seed: 1}
	if *worker != "" {
		o.Remote = &remote.Workers{Addresses: []string{*worker}, Only: true}
	}
	p, err := pipeline.New(o, define(*data))
	if err == nil && *serve {
		err = answer(p)
	} else if err == nil {
		err = train(p, *epochs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cut:", err)
		os.Exit(1)
	}
}

func define(data string) func(g *pipeline.Graph) {
	return func(g *pipeline.Graph) {
		jpeg, _ := readers.File(g, readers.FileOptions{Root: data, Shuffle: true})
		img := ops.DecodeRandomCrop(g, jpeg, ops.RandomCropOptions{})
		img = ops.Resize(g, img, ops.ResizeOptions{Height: side, Width: side})
		img = ops.RemoteCut(g, img)
		g.Output("image", ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{
			Mean: ops.ImageNetMean, Std: ops.ImageNetStd, Mirror: ops.CoinFlip(g, 0.5),
		}))
	}
}

// answer makes rows until the process is killed.
func answer(p *pipeline.Pipeline) error {
	s, err := remote.NewServer(p, remote.ServerOptions{})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	return s.Serve(context.Background(), l)
}

// train prints the rate and the processor time of the epochs but the first, as plankton bench
// does.
func train(p *pipeline.Pipeline, epochs int) error {
	l, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		return err
	}
	defer l.Close()
	n, start, cpu := 0, time.Now(), usage.CPU()
	for b, err := range l.Epochs(context.Background(), epochs) {
		if err != nil {
			return err
		}
		if b.Epoch() == 0 {
			start, cpu = time.Now(), usage.CPU()
			continue
		}
		n += b.NumValid()
	}
	wall, spent := time.Since(start).Seconds(), (usage.CPU() - cpu).Seconds()
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"images": float64(n), "wall_s": wall, "images_per_s": float64(n) / wall, "cpu_s_per_1000": 1000 * spent / float64(n),
	})
}
