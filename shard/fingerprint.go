package shard

import (
	"fmt"
	"strings"
)

// Fingerprint identifies everything that decides the order of samples, except
// the world: shards and batch may change when a plan is resumed. It is text of
// the form "plan/1 samples=1000 policy=partial ...", stable across versions of
// the library that keep the order.
func (p *Plan) Fingerprint() string {
	c := &p.cfg
	text := fmt.Sprintf("plan/1 samples=%d policy=%v mode=%v partition=%v pad_last_batch=%t stick_to_shard=%t shuffle=%t seed=%d block=%d size=%d last_batch_padded=%t pipes=%s",
		c.Samples, c.Policy, c.Mode, c.Partition, c.PadLastBatch, c.StickToShard, c.Shuffle, c.Seed, c.Block, c.Size, c.LastBatchPadded,
		list(c.Pipes))
	text += c.fingerprintBlocks()
	if more := p.order.Fingerprint(); more != "" {
		text += " " + more
	}
	if c.Groups != nil {
		text += " " + c.Groups.fingerprint()
	}
	return text
}

// list writes numbers without blanks, as in "[3,1]".
func list[T int | int64](numbers []T) string {
	return strings.ReplaceAll(fmt.Sprint(numbers), " ", ",")
}

// MismatchError names the first setting in which a stored fingerprint differs
// from the plan's.
type MismatchError struct {
	Field        string // such as "samples"
	Stored, Plan string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("shard: stored under another plan: its %s is %q, this plan's is %q; resume with the same settings or start anew",
		e.Field, e.Stored, e.Plan)
}

// CheckFingerprint returns nil if stored is the plan's [Plan.Fingerprint], and a
// [*MismatchError] otherwise.
func (p *Plan) CheckFingerprint(stored string) error {
	own := p.Fingerprint()
	if stored == own {
		return nil
	}
	have, want := strings.Split(stored, " "), strings.Split(own, " ")
	for i := range max(len(have), len(want)) {
		was, now := word(have, i), word(want, i)
		name, value, _ := strings.Cut(now, "=")
		got, same := strings.CutPrefix(was, name+"=")
		switch {
		case was == now:
		case i == 0:
			return &MismatchError{"version", was, now}
		case same:
			return &MismatchError{name, got, value}
		case i < settings || was != "" && !strings.Contains(was, "="):
			return &MismatchError{"fingerprint", stored, own}
		case now == "":
			name, got, _ = strings.Cut(was, "=")
			return &MismatchError{name, got, "none"}
		default:
			return &MismatchError{name, "none", value}
		}
	}
	return &MismatchError{"fingerprint", stored, own}
}

// settings is the number of words of a plain order's fingerprint; those behind them are
// of groups of blocks, a mix or a sampler.
const settings = 13

// word returns a word of a fingerprint, or nothing behind the last one.
func word(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return ""
}
