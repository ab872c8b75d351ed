package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
)

// sampleLog is a file in which a rank writes the samples of every step, a line
// each: the number of the step, then the samples. Its name, samples.STEP.RANK,
// says with which step it begins. The last line of a finished run is a digest of
// the weights. A nil log writes nothing.
type sampleLog struct {
	file *os.File
	line []byte
}

func newSampleLog(dir string, step, rank int) (*sampleLog, error) {
	if dir == "" {
		return nil, nil
	}
	file, err := os.Create(filepath.Join(dir, fmt.Sprintf("samples.%d.%d", step, rank)))
	return &sampleLog{file: file}, err
}

// write logs a step. Rows that are not valid have the id -1.
func (l *sampleLog) write(step int, ids []int64) error {
	if l == nil {
		return nil
	}
	l.line = fmt.Append(l.line[:0], step)
	for _, id := range ids {
		if id >= 0 {
			l.line = fmt.Append(append(l.line, ' '), id)
		}
	}
	_, err := l.file.Write(append(l.line, '\n'))
	return err
}

func (l *sampleLog) finish(weights [][]float32) error {
	if l == nil {
		return nil
	}
	h := sha256.New()
	for _, w := range weights {
		if err := binary.Write(h, binary.LittleEndian, w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(l.file, "weights %x\n", h.Sum(nil))
	return err
}

func (l *sampleLog) close() {
	if l != nil {
		l.file.Close()
	}
}
