package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/planktonml/plankton/shard"
)

// samplerFlags say which samples an epoch lists, and how they form batches.
type samplerFlags struct {
	Weights column[float64] `xor:"sampler" placeholder:"LIST" help:"Draw samples as often as their weights say: a number for each, or @FILE with them."`
	Labels  column[int32]   `xor:"sampler" placeholder:"LIST" help:"Draw classes equally often: the class of each sample."`
	Draws   int64           `placeholder:"N" help:"With --weights or --labels: draws of an epoch."`
	Once    bool            `help:"With --weights: draw without replacement."`

	Subset column[int64] `xor:"sampler" placeholder:"LIST" help:"Read these samples alone."`

	Repeat int   `xor:"sampler" placeholder:"K" help:"Read every sample so often in an epoch."`
	Apart  int64 `placeholder:"N" help:"With --repeat: distance of a sample's copies."`

	Keys       column[float64] `xor:"sampler" placeholder:"LIST" help:"Read by a key of each sample, small ones first."`
	Start      float64         `placeholder:"SHARE" help:"With --keys: the share of the samples that epoch 0 draws from."`
	PaceEpochs int64           `placeholder:"N" help:"With --keys: the epoch from which on all samples are drawn."`
	KeyWindow  int64           `placeholder:"N" help:"With --keys and --shuffle: neighbours that are shuffled."`

	Sources column[int64] `xor:"sampler" placeholder:"LIST" help:"Mix sources of these sizes; --samples is the draws of an epoch."`
	Shares  string        `placeholder:"[W,W]" help:"With --sources: weights, such as [3,1], or [3,1[2,5]]@2:0[1,1] with a mix within and other weights from epoch 2, draw 0 on."`

	Lengths column[int64] `placeholder:"LIST" help:"Form batches by the length of each sample."`
	Window  int64         `placeholder:"N" help:"With --lengths: samples that are sorted together."`
	Budget  int64         `placeholder:"COST" help:"With --lengths: what a batch may cost."`
	Padded  bool          `help:"With --lengths: a batch costs its longest row times its rows."`
}

// column is a flag that has a number for each sample.
type column[T int32 | int64 | float64] []T

// UnmarshalText reads numbers with commas or blanks between them, or @FILE with such.
func (c *column[T]) UnmarshalText(text []byte) error {
	list := string(text)
	if name, file := strings.CutPrefix(list, "@"); file {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		list = string(content)
	}
	*c = []T{}
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		var x T
		var err error
		switch p := any(&x).(type) {
		case *float64:
			*p, err = strconv.ParseFloat(word, 64)
		case *int64:
			*p, err = strconv.ParseInt(word, 10, 64)
		case *int32:
			var n int64
			n, err = strconv.ParseInt(word, 10, 32)
			*p = int32(n)
		}
		if err != nil {
			return fmt.Errorf("%q is not a number that can be here; want numbers with commas between them, or @FILE", word)
		}
		*c = append(*c, x)
	}
	return nil
}

// set puts the flags into a config. A flag that has no effect beside the others is an error.
func (f *samplerFlags) set(cfg *shard.Config) (err error) {
	for _, need := range []struct {
		given bool
		flag  string
		with  bool
		want  string
	}{
		{f.Draws != 0, "--draws", f.Weights != nil || f.Labels != nil, "--weights or --labels"},
		{f.Once, "--once", f.Weights != nil, "--weights"},
		{f.Apart != 0, "--apart", f.Repeat != 0, "--repeat"},
		{f.Start != 0, "--start", f.Keys != nil, "--keys"},
		{f.PaceEpochs != 0, "--pace-epochs", f.Keys != nil, "--keys"},
		{f.KeyWindow != 0, "--key-window", f.Keys != nil, "--keys"},
		{f.Shares != "", "--shares", f.Sources != nil, "--sources"},
		{f.Sources != nil, "--sources", f.Shares != "", "--shares, a weight for each"},
		{f.Window != 0, "--window", f.Lengths != nil, "--lengths"},
		{f.Budget != 0, "--budget", f.Lengths != nil, "--lengths"},
		{f.Padded, "--padded", f.Lengths != nil, "--lengths"},
	} {
		if given := need.given && !need.with; given {
			return errors.New(need.flag + " needs " + need.want)
		}
	}
	switch {
	case f.Weights != nil:
		cfg.Sampler = shard.Weighted{Weights: f.Weights, Draws: f.Draws, Once: f.Once}
	case f.Labels != nil:
		cfg.Sampler = shard.ClassBalanced{Labels: f.Labels, Draws: f.Draws}
	case f.Subset != nil:
		cfg.Sampler = shard.Subset{Samples: f.Subset}
	case f.Repeat != 0:
		cfg.Sampler = shard.Repeated{Times: f.Repeat, Apart: f.Apart}
	case f.Keys != nil:
		cfg.Sampler = shard.Curriculum{Keys: f.Keys, Start: f.Start, Epochs: f.PaceEpochs, Window: f.KeyWindow}
	case f.Sources != nil:
		cfg.Sources = f.Sources
		cfg.Shares, err = shard.ParseShares(f.Shares)
	}
	if f.Lengths != nil {
		cfg.Groups = &shard.Groups{Lengths: f.Lengths, Window: f.Window, Budget: f.Budget, Padded: f.Padded}
	}
	return err
}

// idsOf returns the number of different ids that a plan may list.
func idsOf(c *shard.Config) (n int64) {
	for _, size := range c.Sources {
		n += size
	}
	return cmp.Or(n, c.Samples)
}

// groupCost adds up what the batches of an epoch cost.
type groupCost struct {
	steps          float64
	lengths, rows  float64 // the sum of all, and of rows filled up to the longest one
	largestByMeans float64
}

// groupCost returns what the printed steps of an epoch cost.
func (r *planRun) groupCost(epoch int64) *groupCost {
	c := &groupCost{}
	var ids []int64
	for step, to := r.steps(epoch); step < to; step++ {
		ids = c.add(r, epoch, step, ids)
	}
	return c
}

// add adds a step. It reads the samples of each rank into ids, and returns ids for the next step.
func (c *groupCost) add(r *planRun, epoch, step int64, ids []int64) []int64 {
	cfg := r.plan.Config()
	total, largest := 0.0, 0.0
	for rank := range cfg.Shards {
		sum, longest := int64(0), int64(0)
		ids = r.plan.AppendBatch(ids[:0], epoch, step, rank)
		for _, id := range ids {
			sum, longest = sum+cfg.Groups.Lengths[id], max(longest, cfg.Groups.Lengths[id])
		}
		full := float64(longest) * float64(len(ids))
		c.lengths, c.rows = c.lengths+float64(sum), c.rows+full
		cost := float64(sum)
		if cfg.Groups.Padded {
			cost = full
		}
		total, largest = total+cost, max(largest, cost)
	}
	if total > 0 {
		c.steps++
		c.largestByMeans += largest * float64(cfg.Shards) / total
	}
	return ids
}

// shares returns the share of padding if rows are filled up, and the largest cost of a rank by
// the mean rank, in the mean over steps. An epoch that costs nothing has neither.
func (c *groupCost) shares() (padding, balance float64, ok bool) {
	if c.steps == 0 || c.rows == 0 {
		return 0, 0, false
	}
	return 1 - c.lengths/c.rows, c.largestByMeans / c.steps, true
}

// String says how much of the batches is padding, and how even the ranks are.
func (c *groupCost) String() string {
	padding, balance, ok := c.shares()
	if !ok {
		return "nothing to pad"
	}
	return fmt.Sprintf("%.1f %% padding if rows are filled up, largest cost of a rank %.2f × the mean", 100*padding, balance)
}

// writeJSON writes the fields of an epoch in JSON, null where the epoch costs nothing.
func (c *groupCost) writeJSON(out *bufio.Writer) {
	padding, balance, ok := c.shares()
	if !ok {
		out.WriteString(`,"padding":null,"balance":null`)
		return
	}
	fmt.Fprintf(out, `,"padding":%.6g,"balance":%.6g`, padding, balance)
}
