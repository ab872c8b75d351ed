package iterator

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/planktonml/plankton/internal/terminal"
)

// Progress shows on a terminal how far a training loop is: the epoch, the step,
// the rate, the time left, how long the loop waited for data, and what the
// program adds. In a pipe it shows nothing.
//
//	progress := iterator.NewProgress(os.Stderr, loader, epochs)
//	defer progress.Close()
//	for batch, err := range loader.Epochs(ctx, epochs) {
//		…
//		progress.Step("cost %.4f", cost)
//	}
//
// It belongs to the goroutine of the loop.
type Progress struct {
	line   *terminal.Line
	loader *Loader
	epochs int

	began        time.Time
	steps, total int64 // done by this Progress, and to be done; total is 0 if nobody knows
	seen         Stats // when it began
}

// NewProgress returns the progress of so many epochs on out, from the loader's
// place on.
func NewProgress(out io.Writer, loader *Loader, epochs int) *Progress {
	return newProgress(terminal.On(out), loader, epochs)
}

func newProgress(line *terminal.Line, loader *Loader, epochs int) *Progress {
	p := &Progress{line: line, loader: loader, epochs: epochs, began: time.Now(), seen: loader.Stats()}
	const most = 1 << 20 // epochs that are worth being looked at one by one
	if plan := loader.Plan(); loader.Len() > 0 && epochs > 0 && epochs <= most {
		p.total = plan.Steps(loader.epoch) - loader.step
		for e := range int64(epochs - 1) {
			p.total += plan.Steps(loader.epoch + 1 + e)
		}
	}
	return p
}

// Step notes that a batch has been used. The format and its arguments are shown
// behind the figures of the loader; they may be left out.
func (p *Progress) Step(format string, args ...any) {
	p.steps++
	if !p.line.Due() {
		return
	}
	text := p.text()
	if format != "" {
		text += "  " + fmt.Sprintf(format, args...)
	}
	p.line.Set(text)
}

// Close removes what is shown. It can be called again, and Step after it, so a
// loop may print lines of its own in between.
func (p *Progress) Close() { p.line.Clear() }

func (p *Progress) text() string {
	var b strings.Builder
	s := p.loader.Stats().Sub(p.seen)
	if p.epochs > 1 {
		fmt.Fprintf(&b, "epoch %d ", p.loader.epoch+1)
	}
	if p.total > 0 { // the share comes first, for terminals that have room for nothing else
		part := float64(p.steps) / float64(p.total)
		left := time.Duration(float64(time.Since(p.began)) * (1/part - 1))
		fmt.Fprintf(&b, "%3.0f %% %s  %d of %d steps, %v left", 100*part, terminal.Bar(part, 20), p.steps, p.total, left.Round(time.Second))
	} else {
		fmt.Fprintf(&b, "%d steps", p.steps)
	}
	fmt.Fprintf(&b, ", %.0f samples/s, waited %.0f %%", s.Rate(), 100*s.WaitShare())
	return b.String()
}
