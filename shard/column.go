package shard

import (
	"fmt"
	"math"
)

// A column has a value for each sample of a data set, such as its weight or its length.

// checkColumn reports a column of another length than the data set.
func checkColumn(name string, have int, samples int64) error {
	if int64(have) != samples {
		return &ConfigError{name, fmt.Sprintf("%d long", have), fmt.Sprintf("one value for each of the %d samples", samples)}
	}
	return nil
}

// element names an element of a column in errors.
func element(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }

// needShuffle reports a random order without Shuffle.
func needShuffle(c *Config, what string) error {
	if c.Shuffle {
		return nil
	}
	return &ConfigError{"Shuffle", false, fmt.Sprintf("true: the order of %s is random", what)}
}

// needByStep reports an order that is meant in time with a partition by shard, where the
// ranks read different parts of the list at a time.
func needByStep(c *Config, what string) error {
	if c.Partition == ByStep {
		return nil
	}
	return &ConfigError{"Partition", c.Partition, "ByStep: " + what + " is an order in time, and by shard ranks read different parts of it at a time"}
}

// hashInts returns a hash of a column by which plans are told apart.
func hashInts[T int32 | int64](column []T) uint64 {
	h := uint64(len(column))
	for _, x := range column {
		h = hash64(h ^ uint64(x)*golden)
	}
	return h
}

// hashFloats is hashInts for float64.
func hashFloats(column []float64) uint64 {
	h := uint64(len(column))
	for _, x := range column {
		h = hash64(h ^ math.Float64bits(x)*golden)
	}
	return h
}
