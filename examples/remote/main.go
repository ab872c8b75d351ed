// Command remote trains a classifier of pictures whose rows other processes make as well. The
// same program is trainer and worker, by a flag, so that both have the same definition:
//
//	go run ./examples/remote -data DIR                                # alone
//
//	go build -o /tmp/remote ./examples/remote
//	/tmp/remote -data DIR -serve 127.0.0.1:8470 &                     # a worker
//	/tmp/remote -data DIR -serve 127.0.0.1:8471 &                     # another one
//	/tmp/remote -data DIR -workers 127.0.0.1:8470,127.0.0.1:8471      # the trainer
//
// DIR holds one folder of JPEG or PNG files per class. The weights are the same, bit for bit,
// with workers and without, and if they are killed in the middle. Workers on other machines
// need -plain-text, where the network is trusted, or certificates: see docs/remote.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/remote"
)

type options struct {
	data, serve, workers string
	plainText            bool
	epochs               int
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", "", "folder with a folder of pictures per class")
	flag.StringVar(&o.serve, "serve", "", "address to listen on: be a worker")
	flag.StringVar(&o.workers, "workers", "", "addresses of workers, with a comma between them")
	flag.BoolVar(&o.plainText, "plain-text", false, "allow plain HTTP between machines: the network is trusted")
	flag.IntVar(&o.epochs, "epochs", 5, "times that training sees every picture")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "remote:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options) error {
	if o.serve != "" && o.workers != "" {
		return fmt.Errorf("-serve makes a worker and -workers a trainer; give one of them")
	}
	p, err := o.pipeline()
	if err != nil {
		return err
	}
	if o.serve != "" {
		return serve(ctx, out, p, o)
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		return err
	}
	defer loader.Close()
	m := newModel(p.Spec("label").Shape[0])
	for b, err := range loader.Epochs(ctx, o.epochs) {
		if err != nil {
			return err
		}
		m.step(b)
		if b.Step() == int64(loader.Len()-1) {
			fmt.Fprintf(out, "epoch %d: loss %.4f\n", b.Epoch(), m.meanLoss())
		}
	}
	for _, w := range p.Stats().Remote {
		fmt.Fprintln(out, w)
	}
	fmt.Fprintf(out, "weights %x\n", m.sum())
	return loader.Close()
}

// serve makes rows for trainers until ctx ends.
func serve(ctx context.Context, out io.Writer, p *pipeline.Pipeline, o options) error {
	s, err := remote.NewServer(p, remote.ServerOptions{PlainText: o.plainText})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", o.serve)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on %s\n", l.Addr())
	return s.Serve(ctx, l)
}

// addresses returns the workers that the trainer asks.
func (o *options) addresses() []string { return strings.Split(o.workers, ",") }
