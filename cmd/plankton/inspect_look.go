package main

import (
	"math"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// looks is what is found out about a picture: its file, its extents, and sums and sums
// of squares of its pixels by channel.
type looks [seen]int64

// The elements of looks.
const (
	seenFormat = iota
	seenHeight
	seenWidth
	seenChannels
	seenBytes
	seenSums
	seenSquares = seenSums + mostChannels
	seen        = seenSquares + mostChannels

	mostChannels = 3
)

// look describes a picture by its file and its pixels.
func look(g *pipeline.Graph, encoded, picture pipeline.Value) pipeline.Value {
	return g.Add(pipeline.Op{
		Name: "look", Inputs: []pipeline.Value{encoded, picture}, Outputs: []datum.Spec{{DType: datum.Int64, Shape: []int{seen}}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
				if _, err := out[0].Resize(seen); err != nil {
					return err
				}
				shape := in[1].Shape()
				v := (*looks)(out[0].Int64s())
				*v = looks{
					seenFormat: formatOf(in[0].Bytes()), seenBytes: int64(in[0].Len()),
					seenHeight: int64(shape[0]), seenWidth: int64(shape[1]), seenChannels: int64(shape[2]),
				}
				v.sum(in[1].Bytes())
				return nil
			}), nil
		},
	})[0]
}

// sum adds the pixels of a picture, interleaved by channel, up.
func (v *looks) sum(pixels []byte) {
	n := int(v[seenChannels])
	if n == 3 {
		var r, g, b, rr, gg, bb int64
		for ; len(pixels) >= 3; pixels = pixels[3:] {
			x, y, z := int64(pixels[0]), int64(pixels[1]), int64(pixels[2])
			r, g, b = r+x, g+y, b+z
			rr, gg, bb = rr+x*x, gg+y*y, bb+z*z
		}
		copy(v[seenSums:], []int64{r, g, b, rr, gg, bb})
		return
	}
	for c := range min(n, mostChannels) {
		for i := c; i < len(pixels); i += n {
			x := int64(pixels[i])
			v[seenSums+c] += x
			v[seenSquares+c] += x * x
		}
	}
}

// moments are means of pixels and of their squares. Every picture counts alike,
// whatever its size, as it does for a network that it is resized for.
type moments struct {
	pictures      float64
	sums, squares [mostChannels]float64 // of the pictures' means
	colour        bool
}

// add counts a picture. One with a single channel has the same in all.
func (m *moments) add(v *looks) {
	pixels := float64(v[seenHeight] * v[seenWidth])
	if pixels == 0 {
		return
	}
	m.pictures++
	m.colour = m.colour || v[seenChannels] > 1
	for c := range mostChannels {
		from := min(c, int(v[seenChannels])-1)
		m.sums[c] += float64(v[seenSums+from]) / pixels
		m.squares[c] += float64(v[seenSquares+from]) / pixels
	}
}

// result returns mean and deviation of every channel, or of the only one where all
// pictures are gray; nil without pictures, and where a channel has one value only, by
// whose deviation nothing can be divided.
func (m *moments) result() (mean, std []float64) {
	channels := 1
	if m.colour {
		channels = mostChannels
	}
	for c := range channels {
		middle := m.sums[c] / m.pictures
		deviation := math.Sqrt(max(0, m.squares[c]/m.pictures-middle*middle))
		if m.pictures == 0 || thousandths(deviation) == 0 {
			return nil, nil
		}
		mean, std = append(mean, thousandths(middle)), append(std, thousandths(deviation))
	}
	return mean, std
}

// thousandths rounds.
func thousandths(v float64) float64 { return math.Round(v*1000) / 1000 }
