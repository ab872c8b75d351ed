package jpeg

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A fileSpec describes a file that encode makes up from random coefficients. It
// covers what ordinary encoders do not write.
type fileSpec struct {
	width, height int
	sampling      []Sampling // one per component
	restart       int
	progressive   bool
	separate      bool // a scan per component
	wideQuant     bool // 16-bit quantisation tables
	standard      bool // sequential: no Huffman tables in the file, that is the standard ones
	adobe         int  // colour transform of an Adobe marker, -1 for no marker
	ids           string
	amplitude     int // largest coefficient
	density       float64
}

// An encoder writes the scans of a file.
type encoder struct {
	out    bytes.Buffer
	r      *rand.Rand
	spec   fileSpec
	header Header
	coefs  [][][blockSize]int // per component and block, in zigzag order
}

// encode returns a file with random content.
func encode(r *rand.Rand, spec fileSpec) []byte {
	e := &encoder{r: r, spec: spec}
	h := &e.header
	h.Width, h.Height, h.Components = spec.width, spec.height, len(spec.sampling)
	copy(h.Sampling[:], spec.sampling)
	e.marker(markerSOI, nil)
	if spec.adobe >= 0 {
		e.marker(markerAPP14, append([]byte("Adobe\x00\x64\x00\x00\x00\x00"), byte(spec.adobe)))
	}
	e.quant()
	e.frame()
	if spec.restart > 0 {
		e.marker(markerDRI, binary.BigEndian.AppendUint16(nil, uint16(spec.restart)))
	}
	for i := range h.Components {
		e.coefs = append(e.coefs, e.randomBlocks(h.coefBlocks(i)))
	}
	e.scans()
	e.marker(markerEOI, nil)
	return e.out.Bytes()
}

func (e *encoder) marker(m byte, payload []byte) {
	e.out.Write([]byte{0xFF, m})
	if payload != nil {
		_ = binary.Write(&e.out, binary.BigEndian, uint16(len(payload)+2))
		e.out.Write(payload)
	}
}

func (e *encoder) quant() {
	for slot := range 2 {
		var p []byte
		if e.spec.wideQuant {
			p = append(p, byte(0x10|slot))
		} else {
			p = append(p, byte(slot))
		}
		for range blockSize {
			v := 1 + e.r.IntN(8)
			if e.spec.wideQuant {
				p = append(p, 0)
			}
			p = append(p, byte(v))
		}
		e.marker(markerDQT, p)
	}
}

func (e *encoder) frame() {
	h := &e.header
	p := []byte{8}
	p = binary.BigEndian.AppendUint16(p, uint16(h.Height))
	p = binary.BigEndian.AppendUint16(p, uint16(h.Width))
	p = append(p, byte(h.Components))
	for i, s := range e.spec.sampling {
		p = append(p, e.id(i), byte(s.H<<4|s.V), byte(min(i, 1)))
	}
	m := byte(markerSOF0)
	if e.spec.progressive {
		m = markerSOF2
	}
	e.marker(m, p)
}

func (e *encoder) id(i int) byte {
	if e.spec.ids != "" {
		return e.spec.ids[i]
	}
	return byte(i + 1)
}

func (e *encoder) randomBlocks(n int) [][blockSize]int {
	blocks := make([][blockSize]int, n)
	for i := range blocks {
		b := &blocks[i]
		b[0] = e.r.IntN(401) - 200
		for k := 1; k < blockSize; k++ {
			if e.r.Float64() < e.spec.density {
				b[k] = e.r.IntN(2*e.spec.amplitude+1) - e.spec.amplitude
			}
		}
	}
	return blocks
}

func (e *encoder) scans() {
	var all [][]int
	if e.spec.separate {
		for i := range e.header.Components {
			all = append(all, []int{i})
		}
	} else {
		var comps []int
		for i := range e.header.Components {
			comps = append(comps, i)
		}
		all = append(all, comps)
	}
	if !e.spec.progressive {
		for _, comps := range all {
			e.scan(comps, 0, blockSize-1, 0, 0)
		}
		return
	}
	for _, comps := range all {
		e.scan(comps, 0, 0, 0, 1)
	}
	split := 1 + e.r.IntN(62)
	for i := range e.header.Components {
		e.scan([]int{i}, 1, split, 0, 2)
		e.scan([]int{i}, split+1, 63, 0, 0)
		e.scan([]int{i}, 1, split, 2, 1)
		e.scan([]int{i}, 1, split, 1, 0)
	}
	e.scan(all[0], 0, 0, 1, 0)
	for _, comps := range all[1:] {
		e.scan(comps, 0, 0, 1, 0)
	}
}

// A token is a symbol of a Huffman table with the bits that follow it.
type token struct {
	class, table int
	symbol       int // -1: bits alone
	bits, n      int
	restart      bool
}

func (e *encoder) scan(comps []int, ss, se, ah, al int) {
	tokens := e.tokens(comps, ss, se, ah, al)
	var codes [2][2]map[int]huffCode
	for class := range 2 {
		for table := range 2 {
			used := map[int]bool{}
			for _, t := range tokens {
				if t.symbol >= 0 && t.class == class && t.table == table {
					used[t.symbol] = true
				}
			}
			if len(used) == 0 {
				continue
			}
			raw := standardHuffman[class][table]
			if !e.spec.standard {
				raw = randomCode(e.r, used)
				e.marker(markerDHT, append([]byte{byte(class<<4 | table)}, raw...))
			}
			codes[class][table] = codeMap(raw)
		}
	}
	p := []byte{byte(len(comps))}
	for _, c := range comps {
		p = append(p, e.id(c), byte(min(c, 1)*0x11))
	}
	e.marker(markerSOS, append(p, byte(ss), byte(se), byte(ah<<4|al)))

	w := bitWriter{out: &e.out}
	restarts := 0
	for _, t := range tokens {
		if t.restart {
			w.flush()
			e.marker(byte(markerRST0+restarts%8), nil)
			restarts++
			continue
		}
		if t.symbol >= 0 {
			c := codes[t.class][t.table][t.symbol]
			w.write(c.code, c.length)
		}
		w.write(t.bits, t.n)
	}
	w.flush()
}

// tokens lists what a scan consists of.
func (e *encoder) tokens(comps []int, ss, se, ah, al int) (out []token) {
	h := &e.header
	mh, mv := h.maxSampling()
	mcusX, mcusY := ceilDiv(h.Width, 8*mh), ceilDiv(h.Height, 8*mv)
	perRow := func(c int) int { return mcusX * h.Sampling[c].H }
	var pred [maxComponents]int
	mcu := 0
	block := func(c, x, y int) {
		b := &e.coefs[c][y*perRow(c)+x]
		out = append(out, blockTokens(b, min(c, 1), &pred[c], ss, se, ah, al, e.spec.progressive)...)
	}
	next := func() {
		if e.spec.restart > 0 && mcu > 0 && mcu%e.spec.restart == 0 {
			out = append(out, token{restart: true})
			pred = [maxComponents]int{}
		}
		mcu++
	}
	if len(comps) == 1 {
		c := comps[0]
		s := h.Sampling[c]
		if h.Components == 1 {
			s, mh, mv = Sampling{1, 1}, 1, 1
		}
		for y := range ceilDiv(h.Height*s.V, 8*mv) {
			for x := range ceilDiv(h.Width*s.H, 8*mh) {
				next()
				block(c, x, y)
			}
		}
		return out
	}
	for y := range mcusY {
		for x := range mcusX {
			next()
			for _, c := range comps {
				s := h.Sampling[c]
				for dy := range s.V {
					for dx := range s.H {
						block(c, x*s.H+dx, y*s.V+dy)
					}
				}
			}
		}
	}
	return out
}

func value(v int) (size, code int) {
	size = bits.Len(uint(max(v, -v)))
	if v < 0 {
		v += 1<<size - 1
	}
	return size, v
}

func blockTokens(b *[blockSize]int, table int, pred *int, ss, se, ah, al int, progressive bool) (out []token) {
	if ss == 0 {
		if ah > 0 {
			return []token{{symbol: -1, bits: b[0] >> al & 1, n: 1}}
		}
		size, code := value(b[0]>>al - *pred)
		*pred = b[0] >> al
		out = append(out, token{class: 0, table: table, symbol: size, bits: code, n: size})
		ss = 1
	}
	run := 0
	var pending []token // correction bits
	last := 0
	scaled := func(k int) int { return b[k] / (1 << al) }
	for k := ss; k <= se; k++ {
		if v := scaled(k); v != 0 && (ah == 0 || v == 1 || v == -1) {
			last = k
		}
	}
	for k := ss; k <= se; k++ {
		v := scaled(k)
		switch {
		case ah > 0 && (v > 1 || v < -1):
			pending = append(pending, token{symbol: -1, bits: max(v, -v) & 1, n: 1})
			continue
		case v == 0:
			run++
			if run == 16 && k < last {
				out = append(append(out, token{class: 1, table: table, symbol: 0xF0}), pending...)
				run, pending = 0, nil
			}
			continue
		}
		size, code := value(v)
		if ah > 0 {
			code = max(v, 0)
		}
		out = append(append(out, token{class: 1, table: table, symbol: run<<4 | size, bits: code, n: size}), pending...)
		run, pending = 0, nil
	}
	if se > 0 && (run > 0 || len(pending) > 0) {
		out = append(append(out, token{class: 1, table: table, symbol: 0}), pending...)
	}
	return out
}

type huffCode struct{ code, length int }

// randomCode returns a table definition for the used symbols, with code lengths of a
// random tree.
func randomCode(r *rand.Rand, used map[int]bool) []byte {
	lengths := []int{1, 1}
	for len(lengths) < len(used)+1 { // one more, since no code is all ones
		i := r.IntN(len(lengths))
		if r.IntN(3) > 0 {
			i = len(lengths) - 1
		}
		if lengths[i] < maxCodeLength {
			lengths[i]++
			lengths = append(lengths, lengths[i])
		}
	}
	slices.Sort(lengths)
	raw := make([]byte, 16)
	for _, l := range lengths[:len(used)] {
		raw[l-1]++
	}
	symbols := make([]int, 0, len(used))
	for s := range used {
		symbols = append(symbols, s)
	}
	slices.Sort(symbols)
	r.Shuffle(len(symbols), func(i, j int) { symbols[i], symbols[j] = symbols[j], symbols[i] })
	for _, s := range symbols {
		raw = append(raw, byte(s))
	}
	return raw
}

func codeMap(raw []byte) map[int]huffCode {
	m := map[int]huffCode{}
	code, k := 0, 16
	for l := 1; l <= 16; l++ {
		for range raw[l-1] {
			m[int(raw[k])] = huffCode{code, l}
			code++
			k++
		}
		code <<= 1
	}
	return m
}

type bitWriter struct {
	out *bytes.Buffer
	acc uint64
	n   int
}

func (w *bitWriter) write(v, n int) {
	w.acc = w.acc<<n | uint64(v)
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.byte(byte(w.acc >> (w.n - 8)))
	}
}

func (w *bitWriter) byte(b byte) {
	w.out.WriteByte(b)
	if b == 0xFF {
		w.out.WriteByte(0)
	}
}

func (w *bitWriter) flush() {
	if w.n > 0 {
		w.byte(byte(w.acc<<(8-w.n)) | byte(1<<(8-w.n)-1))
	}
	w.acc, w.n = 0, 0
}
