package shard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Limits of a [Config]. They keep every product and sum of a plan inside an int64.
const (
	MaxSamples = 1 << 60 // samples of a data set
	MaxRanks   = 1 << 30 // ranks, and rows of a batch
)

// Policy says what happens where the samples of a rank do not fill its last batch.
type Policy uint8

const (
	// Partial leaves the rows without a sample invalid: the valid rows of an
	// epoch are the data set, once each.
	Partial Policy = iota
	// Fill repeats samples until the batch is full: every sample at least once,
	// every row valid.
	Fill
	// Drop leaves out what does not fill a batch on every rank: full batches
	// only, no sample twice.
	Drop
)

// Mode selects whose laws the plan keeps.
type Mode uint8

const (
	// Exact keeps the laws in the package documentation.
	Exact Mode = iota
	// DALI reproduces NVIDIA DALI 2.4, anomalies included.
	DALI
)

// Partition says how the ranks of one epoch share the list of samples.
type Partition uint8

const (
	// ByShard cuts the list into one contiguous shard per rank.
	ByShard Partition = iota
	// ByStep cuts the list into global batches, one per step, which the ranks
	// share: they are the same for every world size that divides them.
	ByStep
)

var (
	policyNames    = []string{"partial", "fill", "drop"}
	modeNames      = []string{"exact", "dali"}
	partitionNames = []string{"shard", "step"}
)

// String returns "partial", "fill" or "drop".
func (p Policy) String() string { return enumString("Policy", policyNames, uint8(p)) }

// String returns "exact" or "dali".
func (m Mode) String() string { return enumString("Mode", modeNames, uint8(m)) }

// String returns "shard" or "step".
func (p Partition) String() string { return enumString("Partition", partitionNames, uint8(p)) }

// MarshalText implements encoding.TextMarshaler.
func (p Policy) MarshalText() ([]byte, error) { return enumText("Policy", policyNames, uint8(p)) }

// MarshalText implements encoding.TextMarshaler.
func (m Mode) MarshalText() ([]byte, error) { return enumText("Mode", modeNames, uint8(m)) }

// MarshalText implements encoding.TextMarshaler.
func (p Partition) MarshalText() ([]byte, error) {
	return enumText("Partition", partitionNames, uint8(p))
}

// UnmarshalText implements encoding.TextUnmarshaler; see [ParsePolicy].
func (p *Policy) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePolicy(string(text))
	return err
}

// UnmarshalText implements encoding.TextUnmarshaler; see [ParseMode].
func (m *Mode) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMode(string(text))
	return err
}

// UnmarshalText implements encoding.TextUnmarshaler; see [ParsePartition].
func (p *Partition) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePartition(string(text))
	return err
}

// ParsePolicy reads "partial", "fill" or "drop" in any case. Anything else is a [*ConfigError].
func ParsePolicy(s string) (Policy, error) {
	i, err := enumParse("Policy", policyNames, s)
	return Policy(i), err
}

// ParseMode reads "exact" or "dali" in any case. Anything else is a [*ConfigError].
func ParseMode(s string) (Mode, error) {
	i, err := enumParse("Mode", modeNames, s)
	return Mode(i), err
}

// ParsePartition reads "shard" or "step" in any case. Anything else is a [*ConfigError].
func ParsePartition(s string) (Partition, error) {
	i, err := enumParse("Partition", partitionNames, s)
	return Partition(i), err
}

func enumString(field string, names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", field, i)
}

func enumText(field string, names []string, i uint8) ([]byte, error) {
	if int(i) < len(names) {
		return []byte(names[i]), nil
	}
	return nil, &ConfigError{field, i, "one of " + strings.Join(names, ", ")}
}

func enumParse(field string, names []string, s string) (int, error) {
	if i := slices.Index(names, strings.ToLower(s)); i >= 0 {
		return i, nil
	}
	return 0, &ConfigError{field, fmt.Sprintf("%q", s), "one of " + strings.Join(names, ", ")}
}

// Config is everything that decides which rank reads which samples when. The
// zero value of every field but Samples, Batch and Shards is its default.
type Config struct {
	// Samples is the size N of the data set, 1 to MaxSamples. Sample ids are 0 to N-1.
	// With Sources it is the number of draws of an epoch.
	Samples int64
	// Batch is the number of rows of one batch of one rank, 1 to MaxRanks.
	Batch int
	// Shards is the number of ranks, 1 to MaxRanks; more ranks than samples
	// are possible in Exact mode only.
	Shards int

	Policy    Policy
	Mode      Mode
	Partition Partition

	// PadLastBatch fills with the rank's last sample where Fill would otherwise
	// read on. In DALI mode it is also the reader option of that name.
	PadLastBatch bool
	// StickToShard gives rank r shard r in every epoch. By default the shards
	// rotate: rank r reads shard (r+epoch) mod Shards. Only ByShard.
	StickToShard bool

	// Shuffle permutes the samples, anew in every epoch. Only Exact.
	Shuffle bool
	// Seed selects the permutations of Shuffle.
	Seed uint64
	// Block keeps a shuffled order cheap on media that are fast only in order:
	// blocks of this many consecutive samples come in permuted order, and so do
	// the samples within each block. 0 shuffles all samples. Needs Shuffle.
	Block int64
	// BlockGroup mixes the samples of so many blocks: blocks come in permuted order, groups
	// of them are formed in that order, and the samples of a group are permuted as one. A
	// medium is read a group at a time, and batches are as varied as a group. 0 permutes each
	// block within itself. Needs Block or BlockEnds. Not with StickToShard.
	BlockGroup int64
	// BlockEnds gives blocks sizes of their own, such as those of files, in the place of
	// Block: block i has the samples from BlockEnds[i-1], or 0, to before BlockEnds[i], and
	// the last one ends at Samples. No block is empty. Planning takes 8 bytes a block for each of
	// two epochs and O(log blocks) for a sample. It is not copied, and must not change while
	// a plan uses it. Needs BlockGroup. Not with Sources.
	BlockEnds []int64

	// Sources mixes several data sets of these sizes, by Weights as in [NewMix], one
	// for each: every epoch goes on with the draws of the mix. Ids count through the
	// sources, one after the other; each source goes through epochs of its own, in
	// its order or shuffled. Only Exact, and not with StickToShard.
	Sources []int64
	Weights []int64

	// Shares takes the place of Weights where the proportions change in the course of
	// training, or where some sources are mixed before they are mixed with others: it has
	// as many sources as Sources.
	Shares *Shares

	// Sampler lists other samples than every one once, such as [Weighted]. Its random orders
	// need Shuffle. Only Exact, without Sources, blocks and StickToShard.
	Sampler Sampler

	// Groups forms steps of samples of similar length, or of a bounded cost, and shares each
	// among the ranks by cost. Only Exact, and by step. Nil: steps are stretches of the list.
	Groups *Groups

	// Size takes the bookkeeping of DALI's iterators that are given a size
	// instead of a reader's name: the number of samples of one epoch over all
	// Pipes. Negative: one pipeline without end, which needs Fill. 0: the
	// reader's own numbers. Only DALI.
	Size int64
	// LastBatchPadded says that the reader pads, as DALI's argument of that
	// name. Needs a positive Size.
	LastBatchPadded bool
	// Pipes lists the shards whose pipelines one iterator drives, in its order.
	// Other ranks have no rows. Nil: all of them. Only DALI.
	Pipes []int
}

// ConfigError reports a field of a [Config] that no plan can be made of.
type ConfigError struct {
	Field string // the field's name in Config
	Value any    // what it was
	Want  string // what it may be
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("shard: %s is %v; want %s", e.Field, e.Value, e.Want)
}

func (c *Config) validate() error {
	switch {
	case c.Samples < 1 || c.Samples > MaxSamples:
		return &ConfigError{"Samples", c.Samples, fmt.Sprintf("1 to %d", int64(MaxSamples))}
	case c.Batch < 1 || c.Batch > MaxRanks:
		return &ConfigError{"Batch", c.Batch, fmt.Sprintf("1 to %d rows", MaxRanks)}
	case c.Shards < 1 || c.Shards > MaxRanks:
		return &ConfigError{"Shards", c.Shards, fmt.Sprintf("1 to %d ranks", MaxRanks)}
	case int(c.Policy) >= len(policyNames):
		return &ConfigError{"Policy", c.Policy, "Partial, Fill or Drop"}
	case int(c.Mode) >= len(modeNames):
		return &ConfigError{"Mode", c.Mode, "Exact or DALI"}
	case int(c.Partition) >= len(partitionNames):
		return &ConfigError{"Partition", c.Partition, "ByShard or ByStep"}
	case c.Partition == ByStep && c.StickToShard:
		return &ConfigError{"StickToShard", true, "false: a partition by step has no shards to stick to"}
	}
	if err := cmp.Or(c.validateBlocks(), c.validateSources(), c.validateSampler(), c.validateGroups()); err != nil {
		return err
	}
	if c.Mode == DALI {
		return c.validateDALI()
	}
	return c.validateExact()
}

func (c *Config) validateSources() error {
	switch {
	case c.Shares != nil && c.Weights != nil:
		return &ConfigError{"Weights", c.Weights, "nil with Shares, which have the weights"}
	case c.Shares != nil && c.Shares.sources() != len(c.Sources):
		return &ConfigError{"Shares", c.Shares, fmt.Sprintf("as many sources as Sources: %d", len(c.Sources))}
	case c.Shares == nil && len(c.Sources) != len(c.Weights):
		return &ConfigError{"Weights", c.Weights, fmt.Sprintf("one for each of the %d Sources", len(c.Sources))}
	case c.Sources == nil:
		return nil
	case c.Mode == DALI:
		return &ConfigError{"Sources", c.Sources, "nil in DALI mode, which cannot mix; use Exact mode"}
	case c.StickToShard:
		return &ConfigError{"StickToShard", true, "false with Sources: every epoch goes on with other samples"}
	}
	left := int64(MaxSamples)
	for _, size := range c.Sources {
		if size < 1 || size > left {
			return &ConfigError{"Sources", c.Sources, fmt.Sprintf("positive sizes, a sum of at most %d", int64(MaxSamples))}
		}
		left -= size
	}
	for _, w := range c.Weights {
		if w < 1 {
			return &ConfigError{"Weights", c.Weights, "positive numbers; leave out a source that gives nothing"}
		}
	}
	return c.shares().validate(c)
}

// shares returns the proportions of the sources.
func (c *Config) shares() *Shares {
	if c.Shares != nil {
		return c.Shares
	}
	return &Shares{Weights: c.Weights}
}

func (c *Config) validateSampler() error {
	switch {
	case c.Sampler == nil:
		return nil
	case c.Mode == DALI:
		return &ConfigError{"Sampler", fmt.Sprintf("%T", c.Sampler), "nil in DALI mode, which knows no other order; use Exact mode"}
	case c.Sources != nil:
		return &ConfigError{"Sampler", fmt.Sprintf("%T", c.Sampler), "nil with Sources, whose Weights decide the order"}
	case c.StickToShard:
		return &ConfigError{"StickToShard", true, "false with a Sampler: its list is another one in every epoch"}
	case c.Block > 0:
		return &ConfigError{"Block", c.Block, "0 with a Sampler, whose order has no blocks"}
	case c.BlockGroup > 0:
		return &ConfigError{"BlockGroup", c.BlockGroup, "0 with a Sampler, whose order has no blocks"}
	}
	return nil
}

func (c *Config) validateExact() error {
	switch {
	case c.Size != 0:
		return &ConfigError{"Size", c.Size, "0 in Exact mode, which knows the size of every epoch; use DALI mode"}
	case c.LastBatchPadded:
		return &ConfigError{"LastBatchPadded", true, "false in Exact mode; use PadLastBatch, or DALI mode"}
	case c.Pipes != nil:
		return &ConfigError{"Pipes", c.Pipes, "nil in Exact mode, where a rank's samples do not depend on its neighbours"}
	}
	return nil
}

func (c *Config) validateDALI() error {
	switch {
	case c.Shuffle:
		return &ConfigError{"Shuffle", true, "false in DALI mode: the order of DALI's shuffle belongs to the C++ library; use Exact mode"}
	case c.Partition == ByStep:
		return &ConfigError{"Partition", c.Partition, "ByShard in DALI mode, which knows no other; use Exact mode"}
	case c.Samples < int64(c.Shards):
		return &ConfigError{"Shards", c.Shards, fmt.Sprintf("at most the number of samples (%d) in DALI mode; use Exact mode", c.Samples)}
	case c.LastBatchPadded && c.Size <= 0:
		return &ConfigError{"LastBatchPadded", true, "false without a positive Size: the reader's own PadLastBatch decides"}
	case c.Size > MaxSamples || c.Size < -MaxSamples:
		return &ConfigError{"Size", c.Size, fmt.Sprintf("at most %d", int64(MaxSamples))}
	case c.Size < 0 && c.Policy != Fill:
		return &ConfigError{"Policy", c.Policy, "Fill with a negative Size: an epoch without end has no last batch"}
	case c.Size < 0 && c.pipes() != 1:
		return &ConfigError{"Size", c.Size, fmt.Sprintf("a positive size for %d pipelines: a negative one is for a single pipeline", c.pipes())}
	}
	if c.Pipes == nil {
		return nil
	}
	if len(c.Pipes) == 0 {
		return &ConfigError{"Pipes", c.Pipes, "at least one shard, or nil for all"}
	}
	seen := make(map[int]bool, len(c.Pipes))
	for _, p := range c.Pipes {
		if p < 0 || p >= c.Shards || seen[p] {
			return &ConfigError{"Pipes", c.Pipes, fmt.Sprintf("different shards from 0 to %d", c.Shards-1)}
		}
		seen[p] = true
	}
	return nil
}

// pipes is the number of pipelines that one iterator drives.
func (c *Config) pipes() int {
	if c.Pipes != nil {
		return len(c.Pipes)
	}
	return c.Shards
}
