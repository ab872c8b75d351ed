package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/shard"
)

// flagNames are a command's flags by what the library's errors call them: fields of
// shard.Config, and phrases about other settings.
type flagNames struct {
	config  map[string]string
	phrases *strings.Replacer
}

var planNames = flagNames{config: map[string]string{
	"Samples": "--samples", "Batch": "--batch", "Shards": "--shards", "Policy": "--policy", "PadLastBatch": "--pad-last-batch",
	"StickToShard": "--stick-to-shard", "Shuffle": "--shuffle", "Partition": "--partition", "Size": "--size", "LastBatchPadded": "--last-batch-padded",
	"Weighted.Weights": "--weights", "Weighted.Draws": "--draws", "ClassBalanced.Labels": "--labels", "ClassBalanced.Draws": "--draws",
	"Subset.Samples": "--subset", "Repeated.Times": "--repeat", "Repeated.Apart": "--apart", "Curriculum.Keys": "--keys",
	"Curriculum.Start": "--start", "Curriculum.Epochs": "--pace-epochs", "Curriculum.Window": "--key-window", "Sources": "--sources",
	"Block": "--block", "BlockGroup": "--block-group", "BlockEnds": "--block-ends", "Shares": "--shares", "Weights": "--shares", "Shares.Stages": "--shares: stage", "Groups.Lengths": "--lengths", "Groups.Window": "--window", "Groups.Budget": "--budget",
}}

// runNames are those of bench, trace and inspect. Phrases that name what has no flag
// are left out.
var runNames = flagNames{
	config: map[string]string{"Batch": "--batch", "Shards": "--world", "BlockGroup": "--shuffle-group"},
	phrases: strings.NewReplacer(
		"readers.File: Root ", "--data ",
		"readers.File: ", "--data: ",
		"readers.IDX: ", "--data: ",
		", or name the files in a List", "",
		", or a list of files as List", "",
		"; give another folder or set Extensions", "; give another folder",
		"count against MemoryBudget:", "count against --memory-budget:",
		"lower BatchSize or the prefetch depth", "lower --batch or --prefetch",
		"options: BatchSize ", "--batch ",
		", PrefetchDepth ", ", --prefetch ",
		"iterator: ShuffleGroup: it is ", "--shuffle-group is ",
		"; say with ShuffleBlock how many samples belong together, or leave it out", "; leave it out, or give a folder of shards",
	),
}

// damageOf returns what is wrong with a sample, without the option of the library that
// goes past the damage of a file.
func damageOf(bad *pipeline.SampleError) error {
	if damaged, ok := errors.AsType[*ops.DamagedError](bad.Err); ok {
		return damaged.Err
	}
	return bad.Err
}

// badSample says in the words of the command line that a sample has ended a run, and how
// to go on. What is wrong with the sample stays as it is: that quotes paths and data.
func badSample(bad pipeline.SampleError) error {
	remedy := "--on-error skip or replace goes on without it"
	if damage := damageOf(&bad); damage != bad.Err {
		bad.Err, remedy = damage, "--damaged keep decodes it as libjpeg does, "+remedy
	}
	bad.Ended = false // that names the option of the library
	return fmt.Errorf("%w (%s)", &bad, remedy)
}

// error says in the words of the command line what the library refused.
func (n flagNames) error(err error) error {
	if bad := (*pipeline.SampleError)(nil); errors.As(err, &bad) {
		return badSample(*bad)
	}
	if wrong := (*shard.ConfigError)(nil); errors.As(err, &wrong) {
		field, element, _ := strings.Cut(wrong.Field, "[")
		if flag := n.config[field]; flag != "" {
			return fmt.Errorf("%s is %v; want %s", strings.TrimSuffix(flag+"["+element, "["), wrong.Value, wrong.Want)
		}
	}
	build, memory, option := (*pipeline.BuildError)(nil), (*pipeline.MemoryError)(nil), (*iterator.OptionError)(nil)
	if n.phrases != nil && (errors.As(err, &build) || errors.As(err, &memory) || errors.As(err, &option)) {
		return errors.New(n.phrases.Replace(err.Error()))
	}
	return err
}
