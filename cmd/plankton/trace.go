package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/planktonml/plankton/internal/atomicfile"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/report"
	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// traceCmd runs a workload and shows where its time went.
type traceCmd struct {
	runFlags `embed:""`
	Out      string `required:"" placeholder:"DIR" help:"Folder to write trace.json and report.html to."`
	Streams  string `placeholder:"POLICY" help:"Normalise whole batches, on streams of the host that this policy plans: single, per-backend, per-operator, ranked or optimal."`
}

// Parts of a report.
const (
	reportPictures = 12
	reportParts    = 120 // of the time, in its charts
)

func (c *traceCmd) Run(std *stdio) error {
	rec := report.NewRecorder()
	var shown album
	w := watch{events: rec.Listener(), batch: shown.add, whole: true}
	if c.Streams != "" {
		if err := w.policy.UnmarshalText([]byte(c.Streams)); err != nil {
			return usagef("--streams: %w", err)
		}
		if c.Workload == "decode" {
			return usagef("--streams: the workload decode has pictures of many sizes, and nothing to do for whole batches")
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
	pictures, err := shown.pictures(c.Workload, res.pipe)
	if err != nil {
		return err
	}
	r := report.Report{
		Title: "plankton " + c.Workload, Settings: res.pipe.Options().String(), Made: time.Now(),
		Pipeline: res.pipe, Stats: res.stats.Pipelines[0], First: res.first, Series: rec.Series(reportParts),
		Timeline: rec.Timeline(res.pipe.Operators()), Pictures: pictures, Dropped: rec.Dropped(),
	}
	tracePath, reportPath := filepath.Join(c.Out, "trace.json"), filepath.Join(c.Out, "report.html")
	if err := atomicfile.Write(tracePath, func(w io.Writer) error { return rec.WriteTrace(w, res.pipe.Operators()) }); err != nil {
		return err
	}
	if err := atomicfile.Write(reportPath, r.WriteHTML); err != nil {
		return err
	}
	if err := c.print(std, res); err != nil || c.JSON {
		return err
	}
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

// album keeps samples of the first batch of a run. They are drawn afterwards, so
// that drawing takes none of the run's time.
type album struct {
	images, labels []report.Sample
	ids            []int64
	full           bool
}

func (a *album) add(b *iterator.Batch) {
	if a.full {
		return
	}
	a.full = true
	for i, ok := range b.Mask() {
		if ok && len(a.ids) < reportPictures {
			a.images = append(a.images, report.Copy(b.Sample("image", i)))
			a.labels = append(a.labels, report.Copy(b.Sample("label", i)))
			a.ids = append(a.ids, b.IDs()[i])
		}
	}
}

// pictures draws what was kept of a workload's pipeline.
func (a *album) pictures(name string, p *pipeline.Pipeline) ([]report.Picture, error) {
	source := p.Readers()[0].Source
	label, _ := p.Spec("label")
	classified := label.DType != datum.Int32 || label.Classes > 0
	mean, std := workload.Normalisation(name)
	var pictures []report.Picture
	for i, image := range a.images {
		caption := report.Caption{Name: printable.Name(filepath.Base(source.Describe(a.ids[i])))}
		if classified {
			caption.Label = printable.Name(report.Label(a.labels[i], source.Meta().Classes))
		}
		p, err := report.NewPicture(image, report.Normalisation{Mean: mean, Std: std}, caption)
		if err != nil {
			return nil, err
		}
		pictures = append(pictures, p)
	}
	return pictures, nil
}
