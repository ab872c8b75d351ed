package report

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// samples keeps some samples of a batch. They are drawn when the page is made, so that drawing takes
// none of the loop's time.
type samples struct {
	mu     sync.Mutex
	at     time.Time // when they were copied
	epoch  int64
	step   int64
	images []sample
	labels []sample
	texts  [][]string // by output, then by sample
	ids    []int64

	drawing sync.Mutex // held while pictures are drawn, which takes long; locked before mu
	drawn   []picture  // of images, or nil
	problem string
}

// sampled is what was copied of one batch. It does not change: of the next one there are new lists.
type sampled struct {
	images []sample
	labels []sample
	ids    []int64
}

// newSamples is how often samples are copied again.
const newSamples = 10 * time.Second

const (
	textSamples  = 4
	textElements = 8
)

// observe copies samples of a batch if it is time for it.
func (s *samples) observe(now time.Time, r *Recorder, p *pipeline.Pipeline, b *pipeline.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.opt.Samples == 0 || !s.at.IsZero() && now.Sub(s.at) < newSamples || b.NumValid() == 0 {
		return
	}
	s.at, s.epoch, s.step = now, b.Epoch(), b.Step()
	s.images, s.labels, s.ids, s.drawn, s.problem = nil, nil, nil, nil, ""
	image, label := r.opt.outputs(p)
	s.texts = make([][]string, len(p.Outputs()))
	for row, valid := range b.Mask() {
		if !valid || len(s.ids) == r.opt.Samples {
			continue
		}
		if image != "" {
			s.images = append(s.images, copyOf(b.Sample(image, row)))
		}
		if label != "" {
			s.labels = append(s.labels, copyOf(b.Sample(label, row)))
		}
		for i, name := range p.Outputs() {
			if len(s.ids) < textSamples && !p.OnDevice(name) {
				s.texts[i] = append(s.texts[i], textOf(b.Sample(name, row)))
			}
		}
		s.ids = append(s.ids, b.IDs()[row])
	}
}

// outputs returns the names of the outputs that are drawn and that are their labels, or nothing.
func (o *Options) outputs(p *pipeline.Pipeline) (image, label string) {
	image, label = o.Image, o.Label
	for _, name := range p.Outputs() {
		spec := p.Spec(name)
		if p.OnDevice(name) {
			continue
		}
		if image == "" && drawable(spec) {
			image = name
		}
		if label == "" && (name == "label" || spec.Classes > 0) {
			label = name
		}
	}
	// What Options names may be on the device too, whose memory cannot be read here.
	if image != "" && p.OnDevice(image) {
		image = ""
	}
	if label != "" && p.OnDevice(label) {
		label = ""
	}
	return image, label
}

// drawable reports whether an output is surely one of pictures.
func drawable(s datum.Spec) bool {
	if len(s.Shape) != 3 || s.DType != datum.Uint8 && s.DType != datum.Float32 {
		return false
	}
	switch s.Layout {
	case datum.HWC:
		return s.Shape[2] == 1 || s.Shape[2] == 3
	case datum.CHW:
		return s.Shape[0] == 1 || s.Shape[0] == 3
	}
	return false
}

// outputRow is an output in the table.
type outputRow struct {
	Name, Spec, Bytes string
	Values            []string
}

// draw puts the samples and the outputs into a page. Observe does not wait for the pictures.
func (s *samples) draw(v *page, o *Options, p *pipeline.Pipeline) {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	s.mu.Lock()
	at, texts := s.at, s.texts
	if !at.IsZero() {
		v.SamplesOf = fmt.Sprintf("epoch %d, step %d", s.epoch, s.step)
	}
	v.Pictures, v.PicturesProblem = s.drawn, s.problem
	of := sampled{s.images, s.labels, s.ids}
	s.mu.Unlock()
	if v.Pictures == nil && v.PicturesProblem == "" {
		v.Pictures, v.PicturesProblem = of.pictures(o, p)
		s.mu.Lock()
		if s.at.Equal(at) { // else they are of a batch before
			s.drawn, s.problem = v.Pictures, v.PicturesProblem
		}
		s.mu.Unlock()
	}
	for i, name := range p.Outputs() {
		spec := p.Spec(name)
		row := outputRow{Name: name, Spec: spec.String(), Bytes: "differs"}
		if spec.Dense() {
			n := p.Options().BatchSize * spec.DType.Size()
			for _, d := range spec.Shape {
				n *= d
			}
			row.Bytes = bytesOf(float64(n))
		}
		if p.OnDevice(name) {
			row.Values = []string{"on the device"}
		} else if len(texts) > 0 {
			row.Values = texts[i]
		}
		v.Outputs = append(v.Outputs, row)
	}
}

// pictures draws them, or says why they cannot be drawn.
func (s *sampled) pictures(o *Options, p *pipeline.Pipeline) (drawn []picture, problem string) {
	reader := p.Readers()[0]
	_, label := o.outputs(p)
	for i, image := range s.images {
		var under caption
		if reader.Source != nil {
			under.Name = printable.Name(filepath.Base(reader.Source.Describe(s.ids[i])))
		}
		if label != "" && (p.Spec(label).DType != datum.Int32 || p.Spec(label).Classes > 0) {
			under.Label = printable.Name(labelOf(s.labels[i], reader.Meta().Classes))
		}
		pic, err := newPicture(image, normalisation{o.Mean, o.Std}, under)
		if err != nil {
			return nil, err.Error()
		}
		drawn = append(drawn, pic)
	}
	return drawn, ""
}

// textOf writes the first elements of a sample.
func textOf(t *datum.Tensor) string {
	var words []string
	n := min(t.Len(), textElements)
	at := func(each func(i int) any) {
		for i := range n {
			words = append(words, fmt.Sprint(each(i)))
		}
	}
	data := t.Bytes()
	switch t.DType() {
	case datum.Uint8, datum.Bool:
		at(func(i int) any { return data[i] })
	case datum.Int8:
		at(func(i int) any { return int8(data[i]) })
	case datum.Uint16, datum.Float16:
		at(func(i int) any { return datum.View[uint16](data)[i] })
	case datum.Int16:
		at(func(i int) any { return datum.View[int16](data)[i] })
	case datum.Uint32:
		at(func(i int) any { return datum.View[uint32](data)[i] })
	case datum.Int32:
		at(func(i int) any { return datum.View[int32](data)[i] })
	case datum.Uint64:
		at(func(i int) any { return datum.View[uint64](data)[i] })
	case datum.Int64:
		at(func(i int) any { return datum.View[int64](data)[i] })
	case datum.Float32:
		at(func(i int) any { return fmt.Sprintf("%.3g", datum.View[float32](data)[i]) })
	case datum.Float64:
		at(func(i int) any { return fmt.Sprintf("%.3g", datum.View[float64](data)[i]) })
	}
	if t.Len() > n {
		words = append(words, "…")
	}
	return strings.Join(words, " ")
}
