package main

import (
	"context"
	"math"
)

// searched counts what a search found.
type searched struct {
	objects, found int // that there are, and those that a box of their class fits
	boxes, right   int // that the network gives, and those that fit an object of their class
}

func (s searched) recall() float64 { return float64(s.found) / float64(s.objects) }

func (s searched) precision() float64 { return float64(s.right) / math.Max(1, float64(s.boxes)) }

// A box fits another one from this IoU on.
const fits = 0.5

// box is left, top, right and bottom.
type box [4]float64

func (a box) iou(b box) float64 {
	w, h := min(a[2], b[2])-max(a[0], b[0]), min(a[3], b[3])-max(a[1], b[1])
	if w <= 0 || h <= 0 {
		return 0
	}
	area := func(x box) float64 { return (x[2] - x[0]) * (x[3] - x[1]) }
	return w * h / (area(a) + area(b) - w*h)
}

// search compares what the anchors say with what is in the pictures of the test set.
func (n *network) search(ctx context.Context) (s searched, err error) {
	anchors := newAnchors()
	for b, err := range n.test.Epoch(ctx) {
		if err != nil {
			return s, err
		}
		if err := n.testVM.RunAll(); err != nil {
			return s, err
		}
		logits, offsets := n.logits.Value().Data().([]float32), n.offsets.Value().Data().([]float32)
		for row, valid := range b.Mask() {
			if !valid {
				continue
			}
			said := [classes][]box{}
			for a := range cells * cells {
				at := row*cells*cells + a
				if c := largest(logits[at*classes : (at+1)*classes]); c != nothing {
					said[c] = append(said[c], place(anchors[4*a:4*a+4], offsets[4*at:4*at+4]))
				}
			}
			s.compare(&said, b.Sample("boxes", row).Float32s(), b.Sample("labels", row).Int32s())
		}
		n.testVM.Reset()
	}
	return s, nil
}

// compare counts the objects of a picture and the boxes that were given of it.
func (s *searched) compare(said *[classes][]box, boxes []float32, labels []int32) {
	objects := [classes][]box{}
	for i, c := range labels {
		b := boxes[4*i : 4*i+4]
		objects[c] = append(objects[c], box{float64(b[0]), float64(b[1]), float64(b[2]), float64(b[3])})
	}
	for c := range classes {
		s.objects, s.boxes = s.objects+len(objects[c]), s.boxes+len(said[c])
		s.found += fitting(objects[c], said[c])
		s.right += fitting(said[c], objects[c])
	}
}

// fitting counts the boxes that fit one of others.
func fitting(boxes, others []box) (n int) {
	for _, a := range boxes {
		for _, b := range others {
			if a.iou(b) >= fits {
				n++
				break
			}
		}
	}
	return n
}

// place returns the box that lies by so much from an anchor; boxes.Encode says what the offsets are.
func place(anchor []float64, offset []float32) box {
	w, h := anchor[2]-anchor[0], anchor[3]-anchor[1]
	x, y := (anchor[0]+anchor[2])/2, (anchor[1]+anchor[3])/2
	x, y = x+w*deviations[0]*float64(offset[0]), y+h*deviations[1]*float64(offset[1])
	w, h = w*math.Exp(deviations[2]*float64(offset[2])), h*math.Exp(deviations[3]*float64(offset[3]))
	return box{x - w/2, y - h/2, x + w/2, y + h/2}
}

// largest returns the index of the largest of some numbers.
func largest(v []float32) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}
