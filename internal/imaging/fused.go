package imaging

import "github.com/planktonml/plankton/pipeline/datum"

// Output describes the row of a batch that the fused functions write: dense, Type Uint8 or Float32, three channels
// or one.
type Output struct {
	Type     datum.DType // Float32: value·Scale[c] + Bias[c]; Uint8: the value, rounded
	CHW      bool        // one plane per channel; otherwise pixel by pixel (HWC)
	Channels int         // 3 or 1; a grey picture fills three channels alike, a colour picture yields its luma as one

	// Color maps the colours of pixels that are rounded to levels, to levels, as Apply does for bytes; nil leaves them
	// as they are. It is for three channels.
	Color *ColorMatrix

	Scale, Bias [3]float32 // per channel, for Float32
	Round       bool       // round values to integers before scaling, as a resize to bytes would have done
}

// NormalizeBy sets Scale and Bias so that values become (value - mean)/std · scale + shift.
func (o *Output) NormalizeBy(mean, std [3]float32, scale, shift float32) {
	for c := range o.Scale {
		k := float64(scale) / float64(std[c])
		o.Scale[c] = float32(k)
		o.Bias[c] = float32(float64(shift) - float64(float64(mean[c])*k))
	}
}

func (o *Output) check(op string, dst []byte, p *Plan) error {
	if o.Type != datum.Uint8 && o.Type != datum.Float32 || o.Channels != 1 && o.Channels != 3 {
		return badArgument(op, "%d channels of %v, the output must be 1 or 3 channels of uint8 or float32", o.Channels, o.Type)
	}
	if o.Color != nil && o.Channels != 3 {
		return badArgument(op, "a matrix of colours for %d channels, 3 are wanted", o.Channels)
	}
	if n := p.Y.Out * p.X.Out * o.Channels * o.Type.Size(); len(dst) != n {
		return badArgument(op, "%d bytes for the output, %d×%d×%d elements of %v need %d", len(dst), p.Y.Out, p.X.Out, o.Channels, o.Type, n)
	}
	return nil
}

// streamBytes is the size from which on a picture is written past the caches. A batch of such pictures does not stay
// in a cache until it is read, and writing through one costs a read of the memory that is overwritten.
const streamBytes = 256 << 10

// stream reports whether rows of w values are written to dst past the caches.
func (o *Output) stream(dst []byte, w int) bool {
	return o.Type == datum.Float32 && o.CHW && len(dst) >= streamBytes && canStream(datum.View[float32](dst), w)
}

// ResizeBytes resamples a picture of bytes with one or three channels as p says and writes it to dst as out says. The
// number of channels must be the output's, or 1.
func (r *Resampler) ResizeBytes(dst []byte, src *Image, p Plan, out *Output) error {
	if err := checkResize(src, &p); err != nil {
		return err
	}
	if err := out.check("resize", dst, &p); err != nil {
		return err
	}
	if src.Type != datum.Uint8 || src.C != 1 && src.C != out.Channels {
		return badArgument("resize", "a source of %d channels of %v does not go with an output of %d channels; 1 or as many channels of uint8 are wanted",
			src.C, src.Type, out.Channels)
	}
	r.prepare(p, src.C)
	r.finish(out, dst, &p)
	for i := range p.Y.Out {
		y := inSourceOrder(&p.Y, i)
		r.load(src, y)
		r.emit(dst, y, &p, out)
	}
	r.publish()
	return nil
}

// ResizeYCbCr resamples every plane of src straight from its own resolution to the output, then converts the colours
// (JFIF, ITU-R BT.601 full range) and writes dst as out says. The plan is in luma samples. Chroma is not interpolated
// to the luma grid first, and colours are clamped once, after the resize: pictures differ slightly from those that were
// converted to RGB before they were resized.
func (r *Resampler) ResizeYCbCr(dst []byte, src *YCbCr, p Plan, out *Output) error {
	if err := src.check("resize"); err != nil {
		return err
	}
	if err := p.Y.check(src.H); err != nil {
		return err
	}
	if err := p.X.check(src.W); err != nil {
		return err
	}
	if err := out.check("resize", dst, &p); err != nil {
		return err
	}
	colour := !src.grey() && out.Channels == 3
	var h, w int
	if colour {
		r.prepare(p, 3)
		h, w = src.chromaSize()
		r.cy.buildVertical(subsampled(p.Y, src.SubV, h))
		r.cx.buildHorizontal(subsampled(p.X, src.SubH, w))
		r.bands[1].start(&r.cy, &r.cx, r.bands[1].out)
		r.bands[2].start(&r.cy, &r.cx, r.bands[2].out)
	} else {
		r.prepare(p, 1)
	}
	r.finish(out, dst, &p)
	for i := range p.Y.Out {
		y := inSourceOrder(&p.Y, i)
		r.bands[0].loadPlane(src.Y, src.YStride, src.W, y)
		if !colour {
			r.emit(dst, y, &p, out)
			continue
		}
		r.bands[1].loadPlane(src.Cb, src.CStride, w, y)
		r.bands[2].loadPlane(src.Cr, src.CStride, w, y)
		r.emitYCbCr(dst, y, &p, out)
	}
	r.publish()
	return nil
}

// finish prepares what becomes of the rows of a picture.
func (r *Resampler) finish(out *Output, dst []byte, p *Plan) {
	r.stream, r.twisting = out.stream(dst, p.X.Out), out.Color != nil
	r.norms.set(out.Scale, out.Bias)
	if !r.twisting {
		return
	}
	r.twist.set(out.Color)
	if out.Type == datum.Uint8 || !out.CHW { // rows of levels come first
		r.norms.set([3]float32{1, 1, 1}, [3]float32{})
		r.levels = grow(r.levels, 3*p.X.Out)
	}
}

// publish makes the finished output visible to whoever gets it.
func (r *Resampler) publish() {
	if r.stream {
		fence()
	}
}

// loadPlane brings the ring and the weights to what output row i needs.
func (b *band) loadPlane(pix []byte, stride, w, i int) {
	from, to := b.missing(i)
	for y := from; y < to; y++ {
		horizontal(b.slot(y), pix[y*stride:][:w], b.x)
	}
	b.weigh(i)
}

// subsampled returns the axis of a chroma plane of n samples that goes with the luma axis a.
func subsampled(a Axis, sub, n int) Axis {
	a.Lo /= float64(sub)
	a.Hi /= float64(sub)
	a.Start /= sub
	a.End = min((a.End+sub-1)/sub, n)
	return a
}

// emit sums the rings and writes the result as row y of dst.
func (r *Resampler) emit(dst []byte, y int, p *Plan, out *Output) {
	if out.Type == datum.Uint8 || !out.CHW || r.twisting {
		for i := range r.bands {
			r.bands[i].combine()
		}
		r.emitRow(dst, y, p, out)
		return
	}
	for c := range out.Channels {
		b := &r.bands[min(c, len(r.bands)-1)]
		row := channelRow(dst, y, c, p)
		if out.Round {
			verticalRound(row, b.ring, b.pitch, b.weights, out.Scale[c], out.Bias[c], r.stream)
		} else {
			verticalAffine(row, b.ring, b.pitch, b.weights, out.Scale[c], out.Bias[c], r.stream)
		}
	}
}

// emitYCbCr is emit for bands that hold Y, Cb and Cr.
func (r *Resampler) emitYCbCr(dst []byte, y int, p *Plan, out *Output) {
	for i := range r.bands {
		r.bands[i].combine()
	}
	luma, cb, cr := r.bands[0].out, r.bands[1].out, r.bands[2].out
	if out.Type == datum.Uint8 || !out.CHW || out.Round || r.twisting {
		toRGB(luma, cb, cr)
		r.emitRow(dst, y, p, out)
		return
	}
	var rows [3][]float32
	for c := range rows {
		rows[c] = channelRow(dst, y, c, p)
	}
	toRGBAffine(rows, luma, cb, cr, &r.norms, r.stream)
}

// channelRow returns row y of channel c of a float32 output in planes.
func channelRow(dst []byte, y, c int, p *Plan) []float32 {
	return datum.View[float32](dst)[(c*p.Y.Out+y)*p.X.Out:][:p.X.Out]
}

// emitRow writes the output row at hand as row y of dst.
func (r *Resampler) emitRow(dst []byte, y int, p *Plan, out *Output) {
	w, c := p.X.Out, out.Channels
	if r.twisting && r.emitTwisted(dst, y, p, out) {
		return
	}
	if out.Type == datum.Uint8 {
		if !out.CHW {
			r.storeBytes(dst[y*w*c:][:w*c], w, c)
			return
		}
		for i := range c {
			toBytes(dst[(i*p.Y.Out+y)*w:][:w], r.channel(i))
		}
		return
	}
	if out.Round && !r.twisting {
		for i := range r.bands {
			quantise(r.bands[i].out)
		}
	}
	if out.CHW {
		for i := range c {
			affine(channelRow(dst, y, i, p), r.channel(i), out.Scale[i], out.Bias[i])
		}
		return
	}
	r.floats = grow(r.floats, w*c)
	for i := range c {
		affine(r.floats[i*w:][:w], r.channel(i), out.Scale[i], out.Bias[i])
	}
	interleave(datum.View[float32](dst)[y*w*c:][:w*c], r.floats, w, w, c)
}

// emitTwisted maps the colours of the row at hand. Rows of float32 in planes are then done, which it reports; of others
// there are levels, which channel returns.
func (r *Resampler) emitTwisted(dst []byte, y int, p *Plan, out *Output) (done bool) {
	w := p.X.Out
	done = out.Type == datum.Float32 && out.CHW
	var rows, to [3][]float32
	for c := range rows {
		rows[c] = r.bands[min(c, len(r.bands)-1)].out[:w]
		if done {
			to[c] = channelRow(dst, y, c, p)
		} else {
			to[c] = r.levels[c*w:][:w]
		}
	}
	twistRows(to, rows, &r.twist, &r.norms, r.stream)
	return done
}
