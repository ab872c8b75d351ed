package iterator

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/planktonml/plankton/internal/terminal"
	"github.com/planktonml/plankton/shard"
)

// Progress shows on a terminal how far a training loop is: the epoch, the step,
// the rate, the time left, how long the loop waited for data, and what the
// program adds. Where the terminal is narrow, the bar gets shorter and what the
// program adds is the last thing to go. In a pipe it shows nothing.
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
	last         int64 // epoch, counted from 1; 0 where it is not shown
	steps, total int64 // done by this Progress, and to be done; total is 0 if nobody knows
	seen         Stats // when it began
}

// NewProgress returns the progress of a number of epochs, which is shown on out. It counts
// the steps of all these epochs, from the place of the loader on.
func NewProgress(out io.Writer, loader *Loader, epochs int) *Progress {
	return newProgress(terminal.On(out), loader, epochs)
}

func newProgress(line *terminal.Line, loader *Loader, epochs int) *Progress {
	p := &Progress{line: line, loader: loader, epochs: epochs, began: time.Now(), seen: loader.Stats()}
	const most = 1 << 20 // epochs that are worth being looked at one by one
	if epochs < 1 || epochs > most {
		return p
	}
	epoch, step := loader.epoch, loader.step
	if step > 0 && loader.atEnd() { // the loop begins with the next one
		epoch, step = epoch+1, 0
	}
	if epochs > 1 {
		p.last = epoch + int64(epochs)
	}
	if plan := loader.Plan(); plan != nil && plan.Len(epoch) > 0 && (epochs == 1 || !budgeted(plan)) {
		p.total = -step
		for e := range int64(epochs) {
			p.total += plan.Steps(epoch + e)
		}
	}
	return p
}

// budgeted reports whether the steps of each epoch are only known after a pass over it.
func budgeted(plan *shard.Plan) bool {
	groups := plan.Config().Groups
	return groups != nil && groups.Budget > 0
}

// Step notes that a batch has been used. What format and args say is shown behind the
// figures of the loader; an empty format adds nothing.
func (p *Progress) Step(format string, args ...any) {
	p.steps++
	if !p.line.Due() {
		return
	}
	added := ""
	if format != "" {
		added = fmt.Sprintf(format, args...)
	}
	p.line.Set(p.text(added, p.line.Width()))
}

// Close removes what is shown. It can be called again, and Step after it, so a
// loop may print lines of its own in between.
func (p *Progress) Close() { p.line.Clear() }

// text returns the figures and what the program adds, in so many columns if it can.
func (p *Progress) text(added string, columns int) string {
	shown := p.figures()
	for {
		text := shown.String()
		if text != "" && added != "" {
			text += "  "
		}
		text += added
		if utf8.RuneCountInString(text) <= columns || !shown.shorten() {
			return text
		}
	}
}

// figures are the parts of the line that are the loader's. Those that are empty are
// not shown.
type figures struct {
	epoch, share      string
	part              float64
	bar               int // its columns
	steps, of         string
	left, rate, waits string
}

// The lengths of the bar.
const (
	longBar  = 20
	shortBar = 5
)

func (p *Progress) figures() *figures {
	s := p.loader.Stats().Sub(p.seen)
	f := &figures{rate: fmt.Sprintf("%.0f samples/s", s.Rate()), waits: fmt.Sprintf("waited %.0f %%", 100*s.WaitShare())}
	if p.epochs > 1 {
		f.epoch = fmt.Sprintf("epoch %d", p.loader.epoch+1)
	}
	if p.last > 0 {
		f.epoch = fmt.Sprintf("epoch %d/%d", min(p.loader.epoch+1, p.last), p.last)
	}
	if p.total == 0 {
		f.steps = fmt.Sprintf("%d steps", p.steps)
		if p.steps == 1 {
			f.steps = "1 step"
		}
		return f
	}
	f.part, f.bar = float64(p.steps)/float64(p.total), longBar
	f.share = fmt.Sprintf("%3.0f %%", 100*f.part)
	f.steps = fmt.Sprintf("%d of %d steps", p.steps, p.total)
	if p.epochs > 1 {
		f.of = " in all"
	}
	left := time.Duration(float64(time.Since(p.began)) * (1/f.part - 1))
	f.left = fmt.Sprintf("%v left", max(0, left).Round(time.Second))
	return f
}

func (f *figures) String() string {
	var b strings.Builder
	put := func(separator, text string) {
		if text == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteString(separator)
		}
		b.WriteString(text)
	}
	put(" ", f.epoch) // the epoch and the share come first, for terminals that cut the rest
	put(" ", f.share)
	if f.bar > 0 {
		put(" ", terminal.Bar(f.part, f.bar))
	}
	separator := "  "
	for _, text := range []string{f.steps + f.of, f.left, f.rate, f.waits} {
		put(separator, text)
		if text != "" {
			separator = ", "
		}
	}
	return b.String()
}

// shorten leaves out what is missed least, and reports whether there was something.
func (f *figures) shorten() bool {
	if f.bar > shortBar {
		f.bar--
		return true
	}
	for _, part := range []*string{&f.waits, &f.left, &f.of} {
		if *part != "" {
			*part = ""
			return true
		}
	}
	if f.bar > 0 {
		f.bar = 0
		return true
	}
	for _, part := range []*string{&f.rate, &f.steps, &f.epoch, &f.share} {
		if *part != "" {
			*part = ""
			return true
		}
	}
	return false
}
