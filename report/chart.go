package report

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// chart is a line over time, drawn in a box of chartWidth × chartHeight.
type chart struct {
	Title  string
	Line   string // the path of the line
	Area   string // the path of what is below it
	Y, X   []tick
	Note   string
	Points []point
}

type tick struct {
	At   float64
	Text string
}

// TextY is the base line of a text beside the tick.
func (t tick) TextY() float64 { return t.At + 4 }

// point is a place to hover over.
type point struct {
	X, Width float64
	Text     string
}

const (
	chartWidth  = 640.0
	chartHeight = 150.0
	ticks       = 4
)

// newChart draws values, each of a part of time of so long. The axis ends at top
// or above the greatest value.
func newChart(title, unit string, values []float64, width time.Duration, top float64) chart {
	c := chart{Title: title}
	for _, v := range values {
		top = max(top, v)
	}
	step := niceStep(top / ticks)
	top = max(step, math.Ceil(top/step-1e-9)*step)
	y := func(v float64) float64 { return chartHeight * (1 - v/top) }
	dx := chartWidth / float64(len(values))
	var line strings.Builder
	for i, v := range values {
		// Each part is a level, since its value is a mean.
		fmt.Fprintf(&line, "%s%.1f,%.1f L%.1f,%.1f ", []string{"L", "M"}[b2i(i == 0)], float64(i)*dx, y(v), float64(i+1)*dx, y(v))
		c.Points = append(c.Points, point{float64(i) * dx, dx, fmt.Sprintf("%s: %s %s", seconds(time.Duration(i)*width), number(v), unit)})
	}
	c.Line = strings.TrimSpace(line.String())
	c.Area = fmt.Sprintf("%s L%.1f,%.1f L0,%.1f Z", c.Line, chartWidth, chartHeight, chartHeight)
	for v := 0.0; v <= top*1.001; v += step {
		c.Y = append(c.Y, tick{y(v), short(v)})
	}
	total := width * time.Duration(len(values))
	dt := niceStep(total.Seconds() / 6)
	for s := 0.0; s <= total.Seconds(); s += dt {
		c.X = append(c.X, tick{chartWidth * s / total.Seconds(), seconds(time.Duration(s * 1e9))})
	}
	return c
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// niceStep returns the least of 1, 2 and 5 times a power of ten that is at least
// x.
func niceStep(x float64) float64 {
	if x <= 0 {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= x*(1-1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// number writes a number with its thousands apart, and decimals only where it is
// small.
func number(v float64) string {
	if a := math.Abs(v); a < 10 && v != math.Trunc(v) {
		return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
	}
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:] // a narrow space that does not break
	}
	return s
}

// short writes a round number on an axis.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return number(v/1e6) + "\u202fM"
	case v >= 1e4:
		return number(v/1e3) + "\u202fk"
	}
	return number(v)
}

// seconds writes a time on an axis.
func seconds(d time.Duration) string {
	if d < time.Second && d > 0 {
		return fmt.Sprintf("%d\u202fms", d.Milliseconds())
	}
	return fmt.Sprintf("%s\u202fs", number(math.Round(d.Seconds()*100)/100))
}

// unitOf returns the unit that a person would write so many bytes in, and its size.
func unitOf(n float64) (name string, size float64) {
	switch {
	case n >= 1e9:
		return "GB", 1e9
	case n >= 1e6:
		return "MB", 1e6
	case n >= 1e3:
		return "kB", 1e3
	}
	return "B", 1
}

// bytesOf writes a size for a person.
func bytesOf(n float64) string {
	unit, size := unitOf(n)
	return strings.TrimSuffix(fmt.Sprintf("%.1f", n/size), ".0") + "\u202f" + unit
}

// micro writes a time per sample for a person.
func micro(d float64) string {
	switch {
	case d >= 1e6:
		return number(math.Round(d/1e4)/100) + "\u202fs"
	case d >= 1e4:
		return number(math.Round(d/1e3)) + "\u202fms"
	case d >= 1e3:
		return number(math.Round(d/10)/100) + "\u202fms"
	}
	return number(math.Round(d*10)/10) + "\u202fµs"
}
