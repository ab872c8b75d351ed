package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/rows"
)

// The wire format, which docs/remote.md describes. Numbers are little-endian.

const (
	version = 1

	pathLines = "/v1/fingerprint"
	pathRows  = "/v1/rows"

	headerSum      = "Plankton-Fingerprint" // SHA-256 of the lines, in hex
	headerInstance = "Plankton-Worker"      // the process that answers

	// MaxRows is how many rows a request may ask for.
	MaxRows = 1024
	// MaxValue is how many bytes a value may have that crosses.
	MaxValue = 1 << 30

	maxReaders = 1024
	maxText    = 512

	made    = 0 // status of a row: its values follow
	notMade = 1 // why follows

	here     = 0 // the elements of a value follow
	inMemory = 1 // where they are in the memory of the connection follows
)

// requestHead is version, 0, readers, rows and seed.
const requestHead = 16

// appendRequest writes a request.
func appendRequest(b []byte, q *rows.Request) []byte {
	b = append(b, version, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(q.Keys[0].IDs)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(q.Keys)))
	b = binary.LittleEndian.AppendUint64(b, q.Seed)
	for _, k := range q.Keys {
		b = binary.LittleEndian.AppendUint64(b, uint64(k.Epoch))
		for _, id := range k.IDs {
			b = binary.LittleEndian.AppendUint64(b, uint64(id))
		}
	}
	return b
}

// parseRequest reads what appendRequest writes, for a definition with so many readers.
func parseRequest(b []byte, readers int) (*rows.Request, error) {
	if len(b) < requestHead {
		return nil, fmt.Errorf("a request of %d bytes; the head has %d", len(b), requestHead)
	}
	if b[0] != version {
		return nil, fmt.Errorf("version %d of the wire format; this worker speaks version %d", b[0], version)
	}
	r, n := int(binary.LittleEndian.Uint16(b[2:])), binary.LittleEndian.Uint32(b[4:])
	switch {
	case r != readers:
		return nil, fmt.Errorf("a request with ids for %d readers; the definition has %d", r, readers)
	case n < 1 || n > MaxRows:
		return nil, fmt.Errorf("a request for %d rows; 1 to %d are possible", n, MaxRows)
	case len(b) != requestHead+int(n)*8*(1+r):
		return nil, fmt.Errorf("a request of %d bytes for %d rows; it must have %d", len(b), n, requestHead+int(n)*8*(1+r))
	}
	q := &rows.Request{Seed: binary.LittleEndian.Uint64(b[8:]), Keys: make([]rows.Key, n)}
	ids := make([]int64, int(n)*r)
	b = b[requestHead:]
	next := func() int64 {
		x := int64(binary.LittleEndian.Uint64(b))
		b = b[8:]
		return x
	}
	for i := range q.Keys {
		k := &q.Keys[i]
		k.Epoch, k.IDs = next(), ids[i*r:(i+1)*r]
		for j := range k.IDs {
			k.IDs[j] = next()
		}
	}
	return q, nil
}

// appendAnswerHead writes what stands in front of the rows of an answer.
func appendAnswerHead(b []byte, values, rows int) []byte {
	b = append(b, version, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(values))
	return binary.LittleEndian.AppendUint32(b, uint32(rows))
}

// appendRow writes a row that was made, and puts what it can into places.
func appendRow(b []byte, values []*datum.Tensor, p *places) ([]byte, error) {
	b = append(b, made)
	for i, t := range values {
		data, shape, layout := datum.Shown(t), t.Shape(), t.Layout()
		if len(layout) > math.MaxUint8 || len(data) > MaxValue {
			return nil, fmt.Errorf("value %d has %d bytes, at most %d can be sent", i, len(data), MaxValue)
		}
		place, put := p.put(data)
		where := byte(here)
		if put {
			where = inMemory
		}
		b = append(b, byte(t.DType()), byte(len(shape)), byte(len(layout)), where)
		b = append(b, layout...)
		for _, d := range shape {
			if uint64(d) > math.MaxUint32 {
				return nil, fmt.Errorf("value %d has a dimension of %d", i, d)
			}
			b = binary.LittleEndian.AppendUint32(b, uint32(d))
		}
		if put {
			b = binary.LittleEndian.AppendUint64(b, place)
		} else {
			b = append(b, data...)
		}
	}
	return b, nil
}

// appendFailure writes a row that could not be made.
func appendFailure(b []byte, why string) []byte {
	why = why[:min(len(why), maxText)]
	b = binary.LittleEndian.AppendUint16(append(b, notMade), uint16(len(why)))
	return append(b, why...)
}

// answerReader reads the rows of an answer and counts its bytes.
type answerReader struct {
	body   io.Reader
	memory *shared     // of the connection, nil for none
	to     rows.Answer // is told of what comes
	n      int64       // bytes that have come and that nobody was told of
	head   [256 + 4*datum.MaxDims]byte
	shape  [datum.MaxDims]int
}

// tellEvery is how many bytes are told of at once: few enough that a row which comes slowly is
// seen to come.
const tellEvery = 64 << 10

// Read counts what comes.
func (r *answerReader) Read(b []byte) (int, error) {
	n, err := r.body.Read(b)
	if r.n += int64(n); r.n >= tellEvery {
		r.tell()
	}
	return n, err
}

func (r *answerReader) tell() {
	r.to.Received(r.n)
	r.n = 0
}

func (r *answerReader) full(b []byte) error {
	_, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *answerReader) skip(n int64) error {
	_, err := io.CopyN(io.Discard, r, n)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// read gives the rows of the answer to a request to a.
func (r *answerReader) read(q *rows.Request, values int, a rows.Answer) error {
	r.to = a
	h := r.head[:8]
	if err := r.full(h); err != nil {
		return err
	}
	if v, n := int(binary.LittleEndian.Uint16(h[2:])), binary.LittleEndian.Uint32(h[4:]); h[0] != version || v != values || int(n) != len(q.Keys) {
		return fmt.Errorf("an answer of version %d with %d values and %d rows; version %d with %d and %d was asked for", h[0], v, n, version, values, len(q.Keys))
	}
	for i := range q.Keys {
		if err := r.row(i, values, a, i == len(q.Keys)-1); err != nil {
			return err
		}
	}
	if n, err := r.body.Read(r.head[:1]); n > 0 || err == nil { // the end lets the connection be used again
		return errors.New("an answer with more bytes than its rows have")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func (r *answerReader) row(i, values int, a rows.Answer, last bool) error {
	if err := r.full(r.head[:1]); err != nil {
		return err
	}
	switch r.head[0] {
	case made:
	case notMade:
		if err := r.full(r.head[:2]); err != nil {
			return err
		}
		n := int(binary.LittleEndian.Uint16(r.head[:]))
		if n > maxText {
			return fmt.Errorf("a reason of %d bytes; at most %d are possible", n, maxText)
		}
		text := make([]byte, n)
		if err := r.full(text); err != nil {
			return err
		}
		a.Failed(i, string(text))
		return nil
	default:
		return fmt.Errorf("a row with status %d", r.head[0])
	}
	row := a.Row(i)
	for range values {
		var err error
		if row, err = r.value(row); err != nil {
			return err
		}
	}
	if last { // before End, which may take long
		r.forgetMemory()
	}
	if row != nil {
		row.End()
	}
	return nil
}

// value reads a value into a row, which may be nil. It returns nil where the row does not
// take it.
func (r *answerReader) value(row rows.Row) (rows.Row, error) {
	if err := r.full(r.head[:4]); err != nil {
		return row, err
	}
	t, dims, letters := datum.DType(r.head[0]), int(r.head[1]), int(r.head[2])
	where := r.head[3]
	if t.Size() == 0 || dims > datum.MaxDims || where > inMemory {
		return row, fmt.Errorf("a value of type %d with %d dimensions in place %d", t, dims, where)
	}
	text := r.head[:letters+4*dims]
	if err := r.full(text); err != nil {
		return row, err
	}
	n, shape := t.Size(), r.shape[:dims]
	for d := range shape {
		shape[d] = int(binary.LittleEndian.Uint32(text[letters+4*d:]))
		if shape[d] > 0 && n > MaxValue/shape[d] {
			return row, fmt.Errorf("a value of %v %v; at most %d bytes are possible", t, shape, MaxValue)
		}
		n *= shape[d]
	}
	if row != nil {
		mem, err := row.Value(t, datum.Layout(text[:letters]), shape)
		switch {
		case err != nil:
			row = nil
		case len(mem) != n:
			return row, fmt.Errorf("a value of %d bytes for %d", n, len(mem))
		case where == inMemory:
			there, err := r.place(n)
			copy(mem, there) // the worker may write there at any time, so nothing looks at it there
			r.n += int64(len(there))
			r.tell()
			return row, err
		default:
			return row, r.full(mem)
		}
	}
	if where == inMemory {
		_, err := r.place(n)
		return row, err
	}
	return row, r.skip(int64(n))
}

// place reads where the n bytes of a value are in the memory of the connection.
func (r *answerReader) place(n int) ([]byte, error) {
	var at [8]byte
	b := at[:]
	if err := r.full(b); err != nil {
		return nil, err
	}
	offset := binary.LittleEndian.Uint64(b)
	there, ok := r.memory.part(offset, n)
	if !ok {
		return nil, fmt.Errorf("%d bytes at %d of the connection's memory, which has not so many", n, offset)
	}
	return there, nil
}
