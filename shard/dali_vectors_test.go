package shard

import (
	"encoding/json"

	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
)

// vector is one recorded run of DALI's iterator.
type vector struct {
	ID                string
	N                 int64
	Batch, Shards     int
	Policy            Policy
	Pad, Stick        bool
	Pipes             []int
	Size              *int64
	LastBatchPadded   bool  `json:"last_batch_padded"`
	AutoReset         any   `json:"auto_reset"`
	PrepareFirstBatch *bool `json:"prepare_first_batch"`
	Shuffle           json.RawMessage
	Error             string
	Script            []string
	Events            []json.RawMessage
	Epochs            []struct {
		Len, Steps int64
		Batches    [][][]int64
	}
}

func (v *vector) config() Config {
	c := Config{
		Samples: v.N, Batch: v.Batch, Shards: v.Shards, Policy: v.Policy, Mode: DALI,
		PadLastBatch: v.Pad, StickToShard: v.Stick, Shuffle: v.Shuffle != nil, LastBatchPadded: v.LastBatchPadded, Pipes: v.Pipes,
	}
	if v.Size != nil {
		c.Size = *v.Size
	}
	return c
}

func (v *vector) ranks() []int {
	if v.Pipes != nil {
		return v.Pipes
	}
	ranks := make([]int, v.Shards)
	for i := range ranks {
		ranks[i] = i
	}
	return ranks
}

func readVectors(t *testing.T, name string) []vector {
	t.Helper()
	var vs []vector
	require.NoError(t, json.Unmarshal(datatest.Vectors(t, name), &vs))
	require.NotEmpty(t, vs)
	return vs
}

func TestDALIVectors(t *testing.T) {
	for _, name := range []string{"epochs_dali.json", "epochs_dali_more.json"} {
		for _, v := range readVectors(t, name) {
			switch {
			case v.Shuffle != nil:
				_, err := New(v.config())
				var cfgErr *ConfigError
				require.ErrorAs(t, err, &cfgErr, v.ID)
				require.Equal(t, "Shuffle", cfgErr.Field)
			case v.Error != "":
				checkRefused(t, &v)
			case v.Script != nil:
				checkScript(t, &v)
			default:
				checkEpochs(t, &v)
			}
		}
	}
}

// checkRefused expects that no iterator can be made. A size of 0 is no setting
// of a Config: there it stands for the reader's own size.
func checkRefused(t *testing.T, v *vector) {
	if v.Size != nil && *v.Size == 0 {
		require.Equal(t, "Size cannot be 0", v.Error)
		return
	}
	p, err := New(v.config())
	if err == nil {
		_, err = p.Cursor(CursorOptions{PrepareFirstBatch: true})
		require.ErrorIs(t, err, ErrNoSteps, "%+v", v)
		require.ErrorIs(t, p.CheckSteps(), ErrNoSteps, "%+v", v)
		return
	}
	var cfgErr *ConfigError
	require.ErrorAs(t, err, &cfgErr, "%+v", v)
}

func checkEpochs(t *testing.T, v *vector) {
	p, err := New(v.config())
	require.NoError(t, err, v.ID)
	for e, want := range v.Epochs {
		epoch := int64(e)
		require.Equal(t, want.Len, p.Len(epoch), "%s epoch %d", v.ID, e)
		require.Equal(t, want.Steps, p.Steps(epoch), "%s epoch %d", v.ID, e)
		for i, rank := range v.ranks() {
			require.Equal(t, want.Batches[i], batches(p, epoch, rank), "%+v epoch %d rank %d", v.config(), e, rank)
		}
	}
}

// batches lists what one rank reads in an epoch.
func batches(p *Plan, epoch int64, rank int) [][]int64 {
	all := [][]int64{}
	for step := range p.Steps(epoch) {
		b := p.AppendBatch([]int64{}, epoch, step, rank)
		if len(b) == 0 && p.cfg.Size != 0 {
			continue // the iterator leaves out the pipeline
		}
		all = append(all, b)
	}
	return all
}

func checkScript(t *testing.T, v *vector) {
	p, err := New(v.config())
	require.NoError(t, err, v.ID)
	auto := v.AutoReset == true || v.AutoReset == "yes"
	c, err := p.Cursor(CursorOptions{AutoReset: auto, PrepareFirstBatch: *v.PrepareFirstBatch})
	require.NoError(t, err, v.ID)
	for i, call := range v.Script {
		var got any
		switch call {
		case "len":
			got = c.Len()
		case "next":
			got = "StopIteration"
			if d, ok := c.Next(); ok {
				got = v.delivered(d)
			}
		case "reset":
			got = warnings(c.Reset())
		case "iter":
			got = warnings(c.Iter())
		case "for":
			c.Iter()
			got = v.drain(c)
		case "drain":
			got = v.drain(c)
		default:
			t.Fatalf("%s: unknown call %q", v.ID, call)
		}
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(v.Events[i]), string(text), "%s call %d: %s of %v", v.ID, i, call, v.Script)
	}
}

func (v *vector) delivered(d Delivery) [][]int64 {
	all := [][]int64{}
	for _, rank := range v.ranks() {
		if b := d.AppendBatch([]int64{}, rank); len(b) > 0 || v.Size == nil {
			all = append(all, b)
		}
	}
	return all
}

func (v *vector) drain(c *Cursor) [][][]int64 {
	all := [][][]int64{}
	for {
		d, ok := c.Next()
		if !ok {
			return all
		}
		all = append(all, v.delivered(d))
	}
}

func warnings(done bool) []string {
	if done {
		return []string{}
	}
	return []string{"DALI iterator does not support resetting while epoch is not finished. Ignoring..."}
}
