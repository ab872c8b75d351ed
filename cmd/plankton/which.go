package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"text/tabwriter"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// whichCmd names the samples of a step, or the steps of a sample, from the plan alone.
type whichCmd struct {
	Data         string       `required:"" placeholder:"DATA" help:"Folder of pictures, flat or one folder per class, of shards, or of IDX files."`
	Batch        int          `default:"64" help:"Samples in a batch."`
	Seed         uint64       `help:"Of shuffling."`
	Shuffle      bool         `help:"Another order in every epoch."`
	ShuffleGroup int64        `placeholder:"G" help:"The same as of bench."`
	Rank         *int         `help:"This rank; default 0, with --sample all of them."`
	World        int          `default:"1" help:"Number of ranks."`
	LastBatch    shard.Policy `default:"partial" help:"partial, fill or drop."`
	Epoch        *int64       `help:"The epoch, from 0; default 0 with --sample."`
	Step         *int64       `help:"The step of the epoch, from 0."`
	State        string       `placeholder:"FILE" help:"A state, as of bench --save-state: the step that follows it."`
	Sample       string       `placeholder:"NAME" help:"List the steps of the epoch in which the sample of this name comes."`
	JSON         bool         `name:"json" help:"Print JSON."`
}

// whichStep is the JSON of a step.
type whichStep struct {
	Epoch   int64         `json:"epoch"`
	Step    int64         `json:"step"`
	Samples []whichSample `json:"samples"`
}

type whichSample struct {
	Row   int    `json:"row"`
	Index int64  `json:"index"`
	Name  string `json:"name"`
	Label *int64 `json:"label,omitempty"`
}

// whichPlaces is the JSON of a sample.
type whichPlaces struct {
	Epoch  int64        `json:"epoch"`
	Name   string       `json:"name"`
	Places []whichPlace `json:"steps"`
}

type whichPlace struct {
	Step  int64 `json:"step"`
	Rank  int   `json:"rank"`
	Row   int   `json:"row"`
	Index int64 `json:"index"`
}

func (c *whichCmd) Run(std *stdio) error {
	if err := c.check(); err != nil {
		return err
	}
	l, err := c.open(std)
	if err != nil {
		return runNames.error(err)
	}
	defer l.Close()
	if c.Sample != "" {
		return c.places(std, l)
	}
	epoch, step, err := c.place(l)
	if err != nil {
		return err
	}
	samples, err := l.Which(epoch, step)
	if err != nil {
		return whichError(err)
	}
	found := whichStep{Epoch: epoch, Step: step, Samples: []whichSample{}}
	for _, s := range samples {
		found.Samples = append(found.Samples, whichSample{s.Row, s.Index, s.Name, labelOf(s.Label)})
	}
	if c.JSON {
		return printJSON(std.out, found)
	}
	return found.print(std.out, l, c.rank(), c.World)
}

// check refuses flags that do not go together.
func (c *whichCmd) check() error {
	asked := 0
	for _, given := range []bool{c.Step != nil, c.State != "", c.Sample != ""} {
		if given {
			asked++
		}
	}
	switch {
	case asked != 1:
		return usagef("give one of --epoch E --step K, --state FILE and --sample NAME")
	case c.Step != nil && c.Epoch == nil:
		return usagef("--step %d is of which epoch? give --epoch, too", *c.Step)
	case c.State != "" && c.Epoch != nil:
		return usagef("--state %s says which epoch it is; leave --epoch out", c.State)
	case c.Batch < 1:
		return usagef("--batch is %d; it must be at least 1", c.Batch)
	case c.World < 1:
		return usagef("--world is %d; it must be at least 1", c.World)
	case c.rank() < 0 || c.rank() >= c.World:
		return usagef("--rank %d --world %d: the rank must be 0 … world-1", c.rank(), c.World)
	}
	return checkShuffleGroup(c.ShuffleGroup, c.Shuffle)
}

func (c *whichCmd) rank() int {
	if c.Rank == nil {
		return 0
	}
	return *c.Rank
}

// open returns a loader with the order of the run, and without its operators.
func (c *whichCmd) open(std *stdio) (*iterator.Loader, error) {
	name := ""
	idx, err := idxFiles(c.Data)
	if err != nil {
		return nil, err
	}
	if len(idx) > 0 {
		name = "mnist"
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	open, closeLine := openOptions(std, -1)
	data, err := workload.Open(ctx, name, c.Data, open)
	closeLine()
	if err != nil {
		return nil, err
	}
	defer data.Close() // no sample is read
	p, err := pipeline.New(pipeline.Options{BatchSize: c.Batch, Seed: c.Seed}, func(g *pipeline.Graph) {
		sample, _ := data.Read(g, pipeline.ReaderOptions{NumShards: c.World, ShardID: c.rank(), Shuffle: c.Shuffle})
		g.Output("sample", sample)
	})
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{LastBatch: c.LastBatch, ShuffleGroup: c.ShuffleGroup}, p)
}

// place returns the step that is asked for.
func (c *whichCmd) place(l *iterator.Loader) (epoch, step int64, err error) {
	if c.State == "" {
		return *c.Epoch, *c.Step, nil
	}
	text, err := os.ReadFile(c.State)
	if err != nil {
		return 0, 0, err
	}
	var state iterator.State
	if err := json.Unmarshal(text, &state); err != nil {
		return 0, 0, fmt.Errorf("--state %s: %w", c.State, err)
	}
	if err := l.SeekState(state); err != nil {
		return 0, 0, fmt.Errorf("--state %s: %w", c.State, err)
	}
	epoch, step = l.Plan().Start()
	return epoch, step, nil
}

// places prints the steps in which a sample comes.
func (c *whichCmd) places(std *stdio, l *iterator.Loader) error {
	found := whichPlaces{Name: c.Sample, Places: []whichPlace{}}
	if c.Epoch != nil {
		found.Epoch = *c.Epoch
	}
	known := false
	for id := range l.Find(c.Sample) {
		known = true
		places, err := l.Places(found.Epoch, id)
		if err != nil {
			return whichError(err)
		}
		for at := range places {
			if c.Rank == nil || at.Rank == *c.Rank {
				found.Places = append(found.Places, whichPlace{at.Step, at.Rank, at.Row, id})
			}
		}
	}
	if !known {
		source := l.Pipelines()[0].Readers()[0].Source
		return fmt.Errorf("--sample: there is no sample %s in %s; names are such as %s", printable.Name(c.Sample), c.Data, printable.Name(datum.EntryOf(source, 0).Name))
	}
	if c.JSON {
		return printJSON(std.out, found)
	}
	return found.print(std.out)
}

// whichError says in the words of the command line that a place is not in the plan.
func whichError(err error) error {
	if wrong, ok := err.(*shard.PositionError); ok {
		return fmt.Errorf("--%s is %v; want %s", map[string]string{"Epoch": "epoch", "Step": "step"}[wrong.Field], wrong.Value, wrong.Want)
	}
	return err
}

// labelOf is the label of a sample, nil where it has none.
func labelOf(label int64) *int64 {
	if label == datum.NoLabel {
		return nil
	}
	return &label
}

// print writes a step for a person.
func (w *whichStep) print(out io.Writer, l *iterator.Loader, rank, world int) error {
	fmt.Fprintf(out, "epoch %d, step %d of %d, rank %d of %d: %s\n", w.Epoch, w.Step, l.Plan().Steps(w.Epoch), rank, world, plural(int64(len(w.Samples)), "sample"))
	if len(w.Samples) == 0 {
		return nil
	}
	classes := l.Classes()
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "row\tindex\tlabel\tname")
	for _, s := range w.Samples {
		label := "-"
		if s.Label != nil {
			label = fmt.Sprint(*s.Label)
			if *s.Label < int64(len(classes)) {
				label += " " + printable.Name(classes[*s.Label])
			}
		}
		fmt.Fprintf(table, "%d\t%d\t%s\t%s\n", s.Row, s.Index, label, printable.Name(s.Name))
	}
	return table.Flush()
}

// print writes the places of a sample for a person.
func (w *whichPlaces) print(out io.Writer) error {
	fmt.Fprintf(out, "epoch %d: %s comes %s\n", w.Epoch, printable.Name(w.Name), plural(int64(len(w.Places)), "time"))
	if len(w.Places) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "step\trank\trow\tindex")
	for _, p := range w.Places {
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\n", p.Step, p.Rank, p.Row, p.Index)
	}
	return table.Flush()
}
