package shard

import "fmt"

// Groups forms steps of samples of similar length, and shares each step among the ranks by
// cost, so that little is padded and no rank waits for another. It needs a partition by step.
//
// A window of the epoch's list is sorted by length and cut into steps, which come in a
// random order, or in the order of their lengths without Shuffle. The window of a global
// batch is that batch: its samples stay together, and are shared by cost.
//
// Without a Budget the laws of the package hold as they do by step: of N samples ⌈N/(S·b)⌉
// steps, the last of which may be short; worlds of one S·b have the same global batches,
// also after a change in the middle of an epoch.
//
// With a Budget a rank's batch has as many rows as the budget allows, at most Batch. All
// ranks take the same number of steps, and under [Partial], which it needs, every position of the list is
// read once. How many steps there are differs from epoch to epoch, and the last step of a window has
// what is left, on all ranks alike.
//
// Every rank computes the same steps from the same lengths. An epoch of a Budget begins with a
// pass over all lengths; otherwise windows are sorted when they are read, O(log Window) for a
// sample. A plan keeps a few windows, and 8 bytes for each window of two epochs.
type Groups struct {
	// Lengths has the tokens, the pixels or another cost of each sample, 0 to MaxLength.
	Lengths []int64
	// Column names a column of the data set that a loader takes the Lengths from, in their place; see [Columns].
	Column string
	// Window is the number of samples that are sorted together, such as a hundred global
	// batches; without a Budget it is rounded up to whole ones. 0 is one global batch, and needs no Budget.
	Window int64
	// Budget bounds the cost of a rank's batch: the sum of its lengths. No sample may be longer. 0 is no bound,
	// and batches of Batch rows.
	Budget int64
	// Padded says that the rows of a batch are filled up to its longest one: its cost is the
	// longest times the number of rows. A step's samples are then shared so that rows of
	// similar length are on one rank, and otherwise so that ranks have equal sums.
	Padded bool
}

// MaxLength is the longest length of a sample in [Groups].
const MaxLength = 1<<31 - 1

func (c *Config) validateGroups() error {
	g := c.Groups
	if g == nil {
		return nil
	}
	ids := c.Samples
	if c.Sources != nil {
		ids = 0
		for _, n := range c.Sources {
			ids += n
		}
	}
	switch {
	case c.Mode == DALI:
		return &ConfigError{"Groups", "set", "nil in DALI mode, which knows no groups; use Exact mode"}
	case c.Partition != ByStep:
		return &ConfigError{"Partition", c.Partition, "ByStep with Groups: ranks share the samples of a step"}
	case g.Window < 0 || g.Window > 1<<31:
		return &ConfigError{"Groups.Window", g.Window, fmt.Sprintf("0 to %d samples", int64(1)<<31)}
	case c.globalBatch() > 1<<31:
		return &ConfigError{"Batch", c.Batch, fmt.Sprintf("with Groups at most %d rows of all ranks", int64(1)<<31)}
	case g.Budget < 0:
		return &ConfigError{"Groups.Budget", g.Budget, "the cost that a batch may have, or 0 for no bound"}
	case g.Budget > 0 && g.Window == 0:
		return &ConfigError{"Groups.Window", 0, "with a Budget the number of samples that are sorted together, such as a hundred batches' worth"}
	case g.Budget > 0 && c.Policy != Partial:
		return &ConfigError{"Policy", c.Policy, "Partial with a Budget, whose batches have the rows that fit"}
	}
	if err := unfed("Groups", g.Column, "Lengths"); err != nil {
		return err
	}
	return checkColumn("Groups.Lengths", len(g.Lengths), ids)
}

// check reports a length that is not possible. It is asked once for a plan.
func (g *Groups) check() error {
	if g == nil {
		return nil
	}
	for i, length := range g.Lengths {
		switch {
		case length < 0 || length > MaxLength:
			return &ConfigError{element("Groups.Lengths", i), length, fmt.Sprintf("0 to %d", MaxLength)}
		case g.Budget > 0 && length > g.Budget:
			return &ConfigError{element("Groups.Lengths", i), length, fmt.Sprintf("at most the Budget, %d; leave longer samples out with a Subset, or cut them", g.Budget)}
		}
	}
	return nil
}

func (g *Groups) fingerprint() string {
	return fmt.Sprintf("groups=lengths window=%d budget=%d padded=%t lengths=%016x", g.Window, g.Budget, g.Padded, hashInts(g.Lengths))
}
