package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/report"
	"github.com/planktonml/plankton/streams"
)

// traceCmd runs a workload and shows where its time went.
type traceCmd struct {
	runFlags `embed:""`
	Out      string `required:"" placeholder:"DIR" help:"Folder to write trace.json and report.html to."`
	Streams  string `placeholder:"POLICY" help:"Normalise whole batches, on streams of the host that this policy plans: single, per-backend, per-operator, ranked or optimal."`
}

func (c *traceCmd) Run(std *stdio) error {
	mean, deviation := workload.Normalisation(c.Workload)
	rec := report.New(report.Options{Title: "plankton " + c.Workload, Spans: true, Image: "image", Label: "label", Mean: mean, Std: deviation})
	w := watch{events: rec.Events(), loader: rec.Attach, batch: rec.Observe, whole: true}
	if c.Streams != "" {
		if err := w.policy.UnmarshalText([]byte(c.Streams)); err != nil {
			return usagef("--streams: %w", err)
		}
		switch c.Workload {
		case "decode":
			return usagef("--streams: the workload decode has pictures of many sizes, and nothing to do for whole batches")
		case "strong":
			return usagef("--streams: the workload strong ends with an operator for single samples, and has nothing to do for whole batches")
		}
		w.device = streams.NewHost()
		defer w.device.Close()
	}
	if err := writableFolder(c.Out); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	res, err := c.run(std, w)
	if err != nil {
		return err
	}
	res.ImagesPerS = rec.Stats().Rate() // as the report has it
	if err := rec.WriteFiles(c.Out); err != nil {
		return err
	}
	if err := c.print(std, res); err != nil || c.JSON {
		return err
	}
	reportPath, tracePath := filepath.Join(c.Out, "report.html"), filepath.Join(c.Out, "trace.json")
	_, err = fmt.Fprintf(std.out, "open %s in a browser, and %s in https://ui.perfetto.dev or chrome://tracing\n", printable.Name(reportPath), printable.Name(tracePath))
	return err
}

// writableFolder makes a folder and sees whether files can be made in it, before a
// long run has nowhere to put its results.
func writableFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "trace")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
