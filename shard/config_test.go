package shard

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfigErrors(t *testing.T) {
	good := Config{Samples: 10, Batch: 2, Shards: 2}
	dali := Config{Samples: 10, Batch: 2, Shards: 2, Mode: DALI}
	for _, c := range []struct {
		field  string
		base   Config
		change func(*Config)
	}{
		{"Samples", good, func(c *Config) { c.Samples = 0 }},
		{"Samples", good, func(c *Config) { c.Samples = -1 }},
		{"Samples", good, func(c *Config) { c.Samples = MaxSamples + 1 }},
		{"Batch", good, func(c *Config) { c.Batch = 0 }},
		{"Batch", good, func(c *Config) { c.Batch = MaxRanks + 1 }},
		{"Shards", good, func(c *Config) { c.Shards = 0 }},
		{"Shards", good, func(c *Config) { c.Shards = -3 }},
		{"Policy", good, func(c *Config) { c.Policy = 3 }},
		{"Mode", good, func(c *Config) { c.Mode = 2 }},
		{"Partition", good, func(c *Config) { c.Partition = 2 }},
		{"StickToShard", good, func(c *Config) { c.StickToShard, c.Partition = true, ByStep }},
		{"Block", good, func(c *Config) { c.Block = 5 }},
		{"Block", good, func(c *Config) { c.Shuffle, c.Block = true, -5 }},
		{"Size", good, func(c *Config) { c.Size = 10 }},
		{"LastBatchPadded", good, func(c *Config) { c.LastBatchPadded = true }},
		{"Pipes", good, func(c *Config) { c.Pipes = []int{0} }},
		{"Shuffle", dali, func(c *Config) { c.Shuffle = true }},
		{"Partition", dali, func(c *Config) { c.Partition = ByStep }},
		{"Shards", dali, func(c *Config) { c.Shards = 11 }},
		{"LastBatchPadded", dali, func(c *Config) { c.LastBatchPadded = true }},
		{"Size", dali, func(c *Config) { c.Size = MaxSamples + 1 }},
		{"Size", dali, func(c *Config) { c.Size, c.Policy = -1, Fill }},
		{"Policy", dali, func(c *Config) { c.Size, c.Shards = -1, 1 }},
		{"Pipes", dali, func(c *Config) { c.Pipes = []int{} }},
		{"Pipes", dali, func(c *Config) { c.Pipes = []int{1, 1} }},
		{"Pipes", dali, func(c *Config) { c.Pipes = []int{2} }},
		{"Pipes", dali, func(c *Config) { c.Pipes = []int{-1} }},
	} {
		cfg := c.base
		c.change(&cfg)
		_, err := New(cfg)
		var cfgErr *ConfigError
		require.ErrorAs(t, err, &cfgErr, "%+v", cfg)
		require.Equal(t, c.field, cfgErr.Field, "%v", err)
		require.NotContains(t, err.Error(), "%!")
	}
	_, err := New(Config{Samples: 10, Shards: 1})
	require.EqualError(t, err, "shard: Batch is 0; want 1 to 1073741824 rows")
}

func TestConfigIsTheCallers(t *testing.T) {
	pipes := []int{0, 1}
	p := mustNew(t, Config{Samples: 10, Batch: 2, Shards: 2, Mode: DALI, Pipes: pipes})
	pipes[0] = 1
	p.Config().Pipes[1] = 0
	require.Equal(t, []int{0, 1}, p.Config().Pipes)
}

func TestEnums(t *testing.T) {
	type all struct {
		Policy    Policy
		Mode      Mode
		Partition Partition
	}
	for _, want := range []all{{}, {Fill, DALI, ByStep}, {Policy: Drop}} {
		text, err := json.Marshal(want)
		require.NoError(t, err)
		var got all
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, want, got)
	}
	text, err := json.Marshal(all{Drop, DALI, ByStep})
	require.NoError(t, err)
	require.Equal(t, `{"Policy":"drop","Mode":"dali","Partition":"step"}`, string(text))

	p, err := ParsePolicy("FILL")
	require.NoError(t, err)
	require.Equal(t, Fill, p)
	_, err = ParsePolicy("half")
	require.EqualError(t, err, `shard: Policy is "half"; want one of partial, fill, drop`)
	_, err = ParseMode("")
	require.Error(t, err)
	_, err = ParsePartition("rank")
	require.Error(t, err)

	require.Equal(t, "Policy(3)", Policy(3).String())
	_, err = Mode(9).MarshalText()
	require.Error(t, err)
}
