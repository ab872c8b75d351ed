package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// drawCurve writes the loss of every step as a picture in SVG.
func drawCurve(path string, losses []float64) error {
	const width, height, left, right, top, bottom = 640, 360, 50, 20, 20, 40
	highest := slices.Max(losses)
	x := func(step int) float64 {
		return left + float64(step)/float64(max(1, len(losses)-1))*(width-left-right)
	}
	y := func(loss float64) float64 { return top + (1-loss/highest)*(height-top-bottom) }

	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="white"/>
<path d="M%d %dV%dH%d" fill="none" stroke="black"/>
<g text-anchor="end"><text x="%d" y="%.0f">%.2f</text><text x="%d" y="%.0f">0</text></g>
<g text-anchor="middle"><text x="%d" y="%d">step 1</text><text x="%d" y="%d">%d</text></g>
<polyline fill="none" stroke="steelblue" stroke-width="1.5" points="`,
		width, height, left, top, height-bottom, width-right,
		left-6, y(highest)+4, highest, left-6, y(0)+4,
		left, height-bottom+18, width-right, height-bottom+18, len(losses))
	for step, loss := range losses {
		fmt.Fprintf(&svg, "%.1f,%.1f ", x(step), y(loss))
	}
	svg.WriteString("\"/>\n</svg>\n")
	return os.WriteFile(path, []byte(svg.String()), 0o666)
}
