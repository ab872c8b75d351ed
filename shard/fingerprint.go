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
	if p.mix != nil {
		text += fmt.Sprintf(" sources=%s weights=%s", list(c.Sources), list(p.mix.weights))
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
	for i, w := range want {
		name, value, _ := strings.Cut(w, "=")
		h := ""
		if i < len(have) {
			h = have[i]
		}
		if h == w {
			continue
		}
		if i == 0 {
			return &MismatchError{"version", h, w}
		}
		got, ok := strings.CutPrefix(h, name+"=")
		if !ok {
			break
		}
		return &MismatchError{name, got, value}
	}
	return &MismatchError{"fingerprint", stored, own}
}
