package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress shows how far a long command is on a terminal, and nothing in a
// pipe.
type progress struct {
	out         io.Writer // nil: quiet
	total, n    int64
	began, next time.Time
}

func newProgress(out io.Writer, total int64) *progress {
	p := &progress{total: total, began: time.Now(), next: time.Now().Add(300 * time.Millisecond)}
	if f, ok := out.(*os.File); ok && total > 0 {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.out = f
		}
	}
	return p
}

func (p *progress) add(n int64) {
	p.n += n
	if p.out == nil || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(100 * time.Millisecond)
	left := time.Duration(float64(time.Since(p.began)) * float64(p.total-p.n) / float64(p.n))
	fmt.Fprintf(p.out, "\r\x1b[K%d of %d batches, %v left", p.n, p.total, left.Round(100*time.Millisecond))
}

// done removes what is shown.
func (p *progress) done() {
	if p.out != nil {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
