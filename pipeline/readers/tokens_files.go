package readers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"sort"
	"strings"
)

// tokenFile is a file of tokens.
type tokenFile struct {
	path   string
	data   *os.File
	mapped []byte // its memory, or nil
	unmap  runtime.Cleanup
	width  int64 // bytes of a token
	tokens int64
	ends   []int64 // of the documents of an index; else nil
	end    int32   // ends a document of a flat file
	counts []int32 // 0, 1, … for all places of a sequence
	hasEnd bool
	keep   bool // where documents end, in a file beside a flat file
}

var errShorter = fmt.Errorf("the file has become shorter since it was opened: %w", io.ErrUnexpectedEOF)

// openTokens opens a flat file, or the data of an index.
func openTokens(path string, o *TokensOptions) (*tokenFile, error) {
	f := &tokenFile{path: path, width: 2, end: o.End, hasEnd: o.HasEnd, keep: o.KeepDocuments}
	if o.Bits == 32 {
		f.width = 4
	}
	var index *megatronIndex
	if base, ok := strings.CutSuffix(path, ".idx"); ok {
		var err error
		if index, err = readMegatronIndex(path); err != nil {
			return nil, err
		}
		f.path, f.width, f.ends, f.hasEnd = base+".bin", index.width, index.ends, false
	}
	data, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	f.data = data
	info, err := data.Stat()
	if err == nil {
		err = f.measure(info.Size(), index)
	}
	if err != nil {
		data.Close()
		return nil, err
	}
	f.mapFile(info.Size())
	return f, nil
}

// measure counts the tokens of a file of so many bytes.
func (f *tokenFile) measure(size int64, index *megatronIndex) error {
	f.tokens = size / f.width
	switch {
	case index != nil && f.tokens != index.tokens || size%f.width != 0 && index != nil:
		return &FormatError{Path: f.path, Offset: size, Err: fmt.Errorf("it has %d bytes, but its index says %d tokens of %d bytes; it was cut short, or belongs to another index", size, index.tokens, f.width)}
	case size%f.width != 0:
		return &FormatError{Path: f.path, Offset: size - size%f.width, Err: fmt.Errorf("the file ends within a token of %d bytes; it was cut short, or Bits is wrong", f.width)}
	case size == 0:
		return &FormatError{Path: f.path, Err: errors.New("the file is empty; leave it out")}
	}
	return nil
}

// hash adds what tells the file from others.
func (f *tokenFile) hash(h hash.Hash) error {
	fmt.Fprintln(h, f.width, f.tokens, len(f.ends))
	if err := binary.Write(h, binary.LittleEndian, f.ends); err != nil {
		return err
	}
	const sample = 64 << 10
	size := f.tokens * f.width
	for _, at := range []int64{0, max(0, size-sample)} {
		if _, err := io.Copy(h, io.NewSectionReader(f.data, at, min(sample, size-at))); err != nil {
			return fmt.Errorf("%s: %w", shown(f.path), err)
		}
	}
	return nil
}

// token returns token i of a buffer.
func (f *tokenFile) token(buffer []byte, i int) int32 {
	if f.width == 2 {
		return int32(binary.LittleEndian.Uint16(buffer[2*i:]))
	}
	return int32(binary.LittleEndian.Uint32(buffer[4*i:]))
}

// read puts a part into tokens, targets, documents and positions. The first document has a
// number; it returns that of the next part's first one, and where the bytes end if the last of them is a zero of mapped memory.
func (f *tokenFile) read(p part, into *tokenValues, document int32, buffer []byte) (after int32, zero int64, err error) {
	n, ahead := int(p.n), 0
	if (!p.whole || p.goesOn) && p.first+int64(n) < f.tokens {
		ahead = 1 // the target of the last token
	}
	buffer, err = f.bytes(buffer[:int64(n+ahead)*f.width], p.first*f.width)
	if err != nil {
		return 0, 0, err
	}
	if f.mapped != nil && buffer[len(buffer)-1] == 0 {
		zero = p.first*f.width + int64(len(buffer))
	}
	if large := f.decode(into[0], buffer); large >= 0 {
		return 0, 0, f.tooLarge(p.first+int64(large), into[0][large])
	}
	ends := f.ends // those behind the first token of the part
	if !p.whole && ends != nil {
		ends = ends[sort.Search(len(ends), func(i int) bool { return ends[i] > p.first }):]
	}
	for first := 0; first < n; document++ {
		end, over := n, ahead == 0
		switch {
		case p.whole:
		case ends != nil:
			for len(ends) > 0 && ends[0] <= p.first+int64(first) { // empty documents
				ends = ends[1:]
			}
			if len(ends) > 0 && ends[0] <= p.first+int64(n) {
				end, over = int(ends[0]-p.first), true
			}
		case f.hasEnd:
			if i := slices.Index(into[0][first:], f.end); i >= 0 {
				end, over = first+i+1, true
			}
		}
		next := int32(-1)
		if !over {
			if next = f.token(buffer, end); next < 0 {
				return 0, 0, f.tooLarge(p.first+int64(end), next)
			}
		}
		if targets := into[1]; targets != nil {
			copy(targets[first:end-1], into[0][first+1:end])
			targets[end-1] = next
		}
		if into[2] != nil {
			fill(into[2][first:end], document)
		}
		if into[3] != nil {
			copy(into[3][first:end], f.counts)
		}
		first = end
	}
	return document, zero, nil
}

// tooLarge is the error of a token that does not fit an int32.
func (f *tokenFile) tooLarge(at int64, token int32) error {
	return &FormatError{Path: f.path, Offset: at * f.width, Err: fmt.Errorf("token %d is larger than %d; Bits may be wrong", uint32(token), math.MaxInt32)}
}

// decode decodes tokens, and returns the first one that is too large, -1 where none is.
func (f *tokenFile) decode(tokens []int32, buffer []byte) (large int) {
	if f.width == 2 {
		decode16(tokens, buffer)
		return -1
	}
	if decode32(tokens, buffer) >= 0 {
		return -1
	}
	return slices.IndexFunc(tokens, func(x int32) bool { return x < 0 })
}

// decode16 decodes tokens of 16 bits, eight at a time: that takes a fifth of the time.
func decode16(tokens []int32, buffer []byte) {
	n := len(tokens) &^ 7
	for i := 0; i < n; i += 8 {
		t, b := (*[8]int32)(tokens[i:]), (*[16]byte)(buffer[2*i:])
		t[0] = int32(binary.LittleEndian.Uint16(b[0:]))
		t[1] = int32(binary.LittleEndian.Uint16(b[2:]))
		t[2] = int32(binary.LittleEndian.Uint16(b[4:]))
		t[3] = int32(binary.LittleEndian.Uint16(b[6:]))
		t[4] = int32(binary.LittleEndian.Uint16(b[8:]))
		t[5] = int32(binary.LittleEndian.Uint16(b[10:]))
		t[6] = int32(binary.LittleEndian.Uint16(b[12:]))
		t[7] = int32(binary.LittleEndian.Uint16(b[14:]))
	}
	for i := n; i < len(tokens); i++ {
		tokens[i] = int32(binary.LittleEndian.Uint16(buffer[2*i:]))
	}
}

// decode32 decodes tokens of 32 bits, likewise, and returns all their bits: less than 0 if one is too large.
func decode32(tokens []int32, buffer []byte) (all int32) {
	n := len(tokens) &^ 7
	for i := 0; i < n; i += 8 {
		t, b := (*[8]int32)(tokens[i:]), (*[32]byte)(buffer[4*i:])
		t[0] = int32(binary.LittleEndian.Uint32(b[0:]))
		t[1] = int32(binary.LittleEndian.Uint32(b[4:]))
		t[2] = int32(binary.LittleEndian.Uint32(b[8:]))
		t[3] = int32(binary.LittleEndian.Uint32(b[12:]))
		t[4] = int32(binary.LittleEndian.Uint32(b[16:]))
		t[5] = int32(binary.LittleEndian.Uint32(b[20:]))
		t[6] = int32(binary.LittleEndian.Uint32(b[24:]))
		t[7] = int32(binary.LittleEndian.Uint32(b[28:]))
		all |= t[0] | t[1] | t[2] | t[3] | t[4] | t[5] | t[6] | t[7]
	}
	for i := n; i < len(tokens); i++ {
		tokens[i] = int32(binary.LittleEndian.Uint32(buffer[4*i:]))
		all |= tokens[i]
	}
	return all
}

// megatronIndex is what an index of Megatron-LM says.
type megatronIndex struct {
	width  int64
	tokens int64
	ends   []int64 // of the documents
}

// readMegatronIndex reads an index, version 1 of "MMIDIDX": the type of tokens, the lengths
// of sequences, where they begin in bytes, and the first sequence of each document.
func readMegatronIndex(path string) (*megatronIndex, error) {
	all, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseMegatronIndex(path, all)
}

func parseMegatronIndex(path string, all []byte) (*megatronIndex, error) {
	wrong := func(at int, format string, args ...any) error {
		return &FormatError{Path: path, Offset: int64(at), Err: fmt.Errorf(format, args...)}
	}
	const header = 9 + 8 + 1 + 8 + 8
	if len(all) < header {
		return nil, wrong(len(all), "the index ends within its head; it was cut short")
	}
	if string(all[:9]) != "MMIDIDX\x00\x00" {
		return nil, wrong(0, "it does not begin with MMIDIDX; want an index of Megatron-LM, or give a flat file a name that does not end in .idx")
	}
	if v := binary.LittleEndian.Uint64(all[9:]); v != 1 {
		return nil, wrong(9, "the index has version %d; want 1", v)
	}
	x := &megatronIndex{}
	switch code := all[17]; code {
	case 8:
		x.width = 2
	case 4:
		x.width = 4
	default:
		return nil, wrong(17, "tokens have type %d; want 8 (uint16) or 4 (int32)", code)
	}
	sequences, documents := binary.LittleEndian.Uint64(all[18:]), binary.LittleEndian.Uint64(all[26:])
	left := uint64(len(all) - header)
	if sequences > left/12 || documents > left/8 || left != 12*sequences+8*documents {
		return nil, wrong(len(all), "it has %d bytes, but %d sequences and %d documents need another number; it was cut short", len(all), sequences, documents)
	}
	lengths, places, firsts := all[header:], all[header+4*sequences:], all[header+12*sequences:]
	begins := make([]int64, sequences+1) // of the sequences, in tokens
	for i := range sequences {
		n := int32(binary.LittleEndian.Uint32(lengths[4*i:]))
		if n < 0 {
			return nil, wrong(header+int(4*i), "sequence %d has %d tokens", i, n)
		}
		if at := int64(binary.LittleEndian.Uint64(places[8*i:])); at != begins[i]*x.width {
			return nil, wrong(header+int(4*sequences+8*i), "sequence %d begins at byte %d; want %d, behind the one before", i, at, begins[i]*x.width)
		}
		begins[i+1] = begins[i] + int64(n)
	}
	x.tokens = begins[sequences]
	last := uint64(0)
	for i := range documents {
		first := binary.LittleEndian.Uint64(firsts[8*i:])
		if first < last || first > sequences || i == 0 && first != 0 || i == documents-1 && first != sequences {
			return nil, wrong(header+int(12*sequences+8*i), "document %d begins with sequence %d of %d; want them in their order, from the first to behind the last", i, first, sequences)
		}
		if i > 0 {
			x.ends = append(x.ends, begins[first])
		}
		last = first
	}
	if x.ends == nil {
		return nil, wrong(26, "the index has no document")
	}
	return x, nil
}
