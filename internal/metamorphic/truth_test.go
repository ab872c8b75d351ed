package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
)

const (
	epochs   = 3  // of the table
	maxSteps = 80 // of a case
)

// outcome is what a step of an epoch must deliver: a batch, or an error.
type outcome struct{ batch, err string }

// truth is what one worker makes of a definition.
type truth struct {
	table [][]outcome // by epoch and step
	need  int64       // bytes that suffice for one batch after the other
}

// errTooLong ends a case with more steps than are worth the time, or with none.
var errTooLong = errors.New("the case has too many steps, or an epoch without any")

// tell makes the truth of a definition, or returns the error that refuses it.
func tell(f *definition) (*truth, error) {
	l, err := f.open(reference, 0)
	if err != nil {
		return nil, err
	}
	w := &truth{}
	steps := 0
	for epoch := range int64(epochs) {
		n := l.Plan().Steps(epoch)
		if steps += int(min(n, math.MaxInt32)); steps > maxSteps || n == 0 {
			return nil, firstOf(l.close(), errTooLong)
		}
		w.table = append(w.table, make([]outcome, n))
	}
	for epoch := range w.table {
		for step := range w.table[epoch] {
			o := &w.table[epoch][step]
			b, err := l.one(context.Background(), epoch, step)
			if o.batch = b; err != nil {
				text, defined := explain(err)
				if !defined {
					return nil, fmt.Errorf("epoch %d step %d: %w", epoch, step, firstOf(err, l.close()))
				}
				o.err = text
			}
			if all := o.batch + o.err; strings.Contains(all, errUnpaired.Error()) {
				return nil, fmt.Errorf("epoch %d step %d has samples that do not belong together:\n%s", epoch, step, all)
			}
			if strings.Contains(o.batch, "NOT ZERO") {
				return nil, fmt.Errorf("epoch %d step %d has rows that are not valid and not zero:\n%s", epoch, step, o.batch)
			}
		}
	}
	for _, p := range l.pipes {
		w.need = max(w.need, p.Memory().Peak-lookAhead(p))
	}
	return w, l.close()
}

// one returns the batch of a place, from a loader that stands there or moves there.
func (o *opened) one(ctx context.Context, epoch, step int) (text string, err error) {
	if pos, _ := o.Position(); fmt.Sprint(pos) != fmt.Sprint(o.Plan().Position(int64(epoch), int64(step))) {
		if err := o.Seek(o.Plan().Position(int64(epoch), int64(step))); err != nil {
			return "", err
		}
	}
	for b, err := range o.Steps(ctx, 1) {
		if err != nil {
			return "", err
		}
		text = snapshot(b)
	}
	return text, nil
}
