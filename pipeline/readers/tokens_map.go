package readers

import (
	"errors"
	"io"
	"math"
	"runtime/debug"
)

// bytes returns the memory of a stretch of the file: that of the page cache where the file is
// mapped, else the buffer, read. Of mapped memory what is behind the end of a file that was cut is zero up to the end of its page,
// and pages behind that fault: so who uses it calls guarded, and intact where the last byte is zero.
func (f *tokenFile) bytes(buffer []byte, at int64) ([]byte, error) {
	if f.mapped != nil {
		return f.mapped[at:][:len(buffer)], nil
	}
	return buffer, f.call(buffer, at)
}

// intact returns an error unless the file has so many bytes still.
func (f *tokenFile) intact(end int64) error {
	size, err := f.data.Seek(0, io.SeekEnd) // nobody reads from where the file stands
	if err == nil && size < end {
		err = errShorter
	}
	if err != nil {
		return &FormatError{Path: f.path, Offset: size, Err: err}
	}
	return nil
}

// memory returns the memory of a part of a mapped file.
func (f *tokenFile) memory(p part) []byte { return f.mapped[p.first*f.width:][:int64(p.n)*f.width] }

// mappedEnd is where the bytes of a file end, at most, that might be missing in mapped memory; zero where none are.
type mappedEnd struct {
	file int32
	at   int64
}

// note takes up what read returns of a file. When another file comes, that of the one before is looked at.
func (e *mappedEnd) note(files []*tokenFile, file int32, at int64) error {
	if file != e.file {
		if err := e.intact(files); err != nil {
			return err
		}
		*e = mappedEnd{file: file}
	}
	e.at = max(e.at, at)
	return nil
}

// intact returns an error unless the file has all of them.
func (e *mappedEnd) intact(files []*tokenFile) error {
	if e.at == 0 {
		return nil
	}
	return files[e.file].intact(e.at)
}

// call reads a stretch of the file by a call of the system.
func (f *tokenFile) call(buffer []byte, at int64) error {
	got, err := f.data.ReadAt(buffer, at)
	if got == len(buffer) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = errShorter
	}
	return &FormatError{Path: f.path, Offset: at + int64(got), Err: err}
}

// guarded calls read for a part. Where memory of the mapped file faults, which the system does for what
// cannot be read, a call for the same bytes says why.
func (f *tokenFile) guarded(p part, into *tokenValues, document int32, buffer []byte) (after int32, zero int64, err error) {
	if f.mapped == nil {
		return f.read(p, into, document, buffer)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			if _, fault := v.(interface{ Addr() uintptr }); !fault {
				panic(v)
			}
			if err = f.call(buffer[:int64(p.n)*f.width], p.first*f.width); err == nil {
				unmapped := *f
				unmapped.mapped = nil
				after, zero, err = unmapped.read(p, into, document, buffer)
			}
		}
	}()
	return f.read(p, into, document, buffer)
}

// mappable reports whether a file of so many bytes may be mapped whole.
func mappable(size int64) bool { return size > 0 && size <= math.MaxInt }
