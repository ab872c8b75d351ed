package index

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"

	"github.com/planktonml/plankton/internal/printable"
)

// TFRecord files: records of a length, its checksum, a message and its checksum. The
// messages are tf.train.Example; see example.go.
func init() {
	add(&format{name: "tfrecord", endings: []string{".tfrecord", ".tfrecords"}, framed: true, scan: scanTFRecord, beside: readTFRecordIndex})
}

// Bytes around the message of a record.
const (
	RecordHeader  = 12
	RecordTrailer = 4
)

// mostRecordBytes is the longest message: protocol buffers have 2 GiB.
const mostRecordBytes = 1<<31 - 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// RecordCRC returns the checksum of a record's message that is in several pieces, as the
// record has it.
func RecordCRC(pieces ...[]byte) uint32 {
	crc := uint32(0)
	for _, p := range pieces {
		crc = crc32.Update(crc, castagnoli, p)
	}
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// AppendRecord appends a record with the message made of pieces.
func AppendRecord(dst []byte, pieces ...[]byte) []byte {
	n := 0
	for _, p := range pieces {
		n += len(p)
	}
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
	dst = binary.LittleEndian.AppendUint32(dst, RecordCRC(dst[start:]))
	for _, p := range pieces {
		dst = append(dst, p...)
	}
	return binary.LittleEndian.AppendUint32(dst, RecordCRC(pieces...))
}

func scanTFRecord(w *window, b *Builder, o *Options) error {
	e := exampleScan{w: w, b: b, o: o}
	for pos := int64(0); pos < w.object.Size; {
		frame, err := recordAt(w, pos)
		if err == nil {
			err = e.record(frame)
		}
		if err != nil {
			return err
		}
		pos += frame.Length
	}
	return nil
}

// recordAt returns the frame of the record that begins at a byte.
func recordAt(w *window, pos int64) (frame Part, err error) {
	head, err := w.at(pos, int(min(RecordHeader, w.object.Size-pos)))
	if err != nil {
		return frame, err
	}
	if len(head) < RecordHeader {
		return frame, w.broken(pos, "the file ends in the middle of a record: it was cut off; copy or write it again")
	}
	n := binary.LittleEndian.Uint64(head)
	if binary.LittleEndian.Uint32(head[8:]) != RecordCRC(head[:8]) {
		return frame, w.broken(pos, "no record begins here: the checksum of its length is wrong; the file is damaged, or no TFRecord file")
	}
	frame = Part{pos, RecordHeader + int64(min(n, mostRecordBytes)) + RecordTrailer}
	if n > mostRecordBytes || frame.Length > w.object.Size-pos {
		return frame, w.broken(pos, "the record has %d bytes, but the file ends at byte %d: it was cut off; copy or write it again", n, w.object.Size)
	}
	return frame, nil
}

// readTFRecordIndex takes the records of a file from the index of tfrecord2idx beside it,
// if there is one: those that it lists, in its order, as NVIDIA DALI reads them.
func readTFRecordIndex(w *window, b *Builder, o *Options) (bool, error) {
	name := BesideTFRecord(w.object.Name)
	text, err := besideText(w, name, "tfrecord2idx")
	if text == nil || err != nil {
		return false, err
	}
	e := exampleScan{w: w, b: b, o: o}
	line := 0
	for words := range strings.Lines(string(text)) {
		line++
		var listed Part
		if _, err := fmt.Sscanf(words, "%d %d\n", &listed.Offset, &listed.Length); err != nil {
			return false, fmt.Errorf("%s, line %d: %.40q; want the offset and the size of a record; make it again with tfrecord2idx or `plankton index`, or remove it", printable.Name(name), line, words)
		}
		if listed.Offset < 0 || listed.Offset >= w.object.Size {
			return false, misfit(w, name, line, listed)
		}
		frame, err := recordAt(w, listed.Offset)
		switch {
		case w.ctx.Err() != nil:
			return false, err
		case err != nil || frame != listed:
			return false, misfit(w, name, line, listed)
		}
		if err := e.record(frame); err != nil {
			return false, err
		}
	}
	return true, nil
}

// misfit is that an index lists a record which is not there.
func misfit(w *window, name string, line int, p Part) error {
	return fmt.Errorf("%s, line %d, does not fit %s, which has no record of %d bytes at byte %d; make it again with tfrecord2idx or `plankton index`, or remove it",
		printable.Name(name), line, printable.Name(w.object.Name), p.Length, p.Offset)
}

// BesideTFRecord returns the name that an index file of tfrecord2idx has here: the tool
// leaves it to the user.
func BesideTFRecord(file string) string {
	return strings.TrimSuffix(file, path.Ext(file)) + ".idx"
}

// WriteTFRecordIndex writes the index of one TFRecord file as NVIDIA DALI's tool
// tfrecord2idx does: a line of offset and size per record.
func WriteTFRecordIndex(out io.Writer, x *Index) error {
	w := bufio.NewWriter(out)
	for i := range x.Len() {
		p := x.Frame(i)
		fmt.Fprintf(w, "%d %d\n", p.Offset, p.Length)
	}
	return w.Flush()
}
