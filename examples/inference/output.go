package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
)

// output is a CSV file and, in a file beside it, the place in the data. A place is stored after the lines
// before it, with the size that the CSV file has then; what a killed job has written behind
// that is cut off and made again.
type output struct {
	file  *os.File
	csv   *csv.Writer
	state string   // name of the file of the place
	empty []string // scores of a picture that has none
}

// place is what is stored.
type place struct {
	Data iterator.State `json:"data"`
	Size int64          `json:"size"`
}

// openOutput begins a file, or goes on with one that has a place and moves the loader there.
func openOutput(name string, columns []string, loader *iterator.Loader) (*output, error) {
	o := &output{state: name + ".state", empty: make([]string, len(columns))}
	var p place
	text, err := os.ReadFile(o.state)
	switch {
	case err == nil:
		if err = json.Unmarshal(text, &p); err == nil {
			err = loader.Restore(p.Data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w: move it and %s away to begin anew", o.state, err, name)
		}
	case errors.Is(err, fs.ErrNotExist):
		if info, err := os.Stat(name); err == nil && info.Size() > 0 {
			return nil, fmt.Errorf("%s is there, but not %s, which says how far it is: move it away, or name another file", name, o.state)
		}
		if err := o.storeAt(0, loader); err != nil { // first, so that no line is ever without a place
			return nil, err
		}
	default:
		return nil, err
	}
	if err := o.open(name, p.Size); err != nil {
		return nil, err
	}
	if p.Size == 0 {
		return o, o.csv.Write(append(append([]string{"name"}, columns...), "error"))
	}
	return o, nil
}

// open opens the file and cuts off what is behind the place.
func (o *output) open(name string, size int64) error {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	is, err := file.Seek(0, io.SeekEnd)
	if err == nil && is < size {
		err = fmt.Errorf("%s has %d bytes, but had %d when %s was stored: move both away to begin anew", name, is, size, o.state)
	}
	if err == nil {
		err = file.Truncate(size)
	}
	if err == nil {
		_, err = file.Seek(size, io.SeekStart)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	o.file, o.csv = file, csv.NewWriter(file)
	return nil
}

// line writes the line of a picture: its scores, or why there are none.
func (o *output) line(name string, scores []float32, bad *pipeline.SampleError) error {
	line := []string{name}
	for _, v := range scores {
		line = append(line, strconv.FormatFloat(float64(v), 'g', -1, 32))
	}
	if bad == nil {
		return o.csv.Write(append(line, ""))
	}
	return o.csv.Write(append(append(line, o.empty...), bad.Err.Error()))
}

// store stores the place behind the batch at hand, when all lines up to it are on the disk.
func (o *output) store(loader *iterator.Loader) error {
	o.csv.Flush()
	if err := o.csv.Error(); err != nil {
		return err
	}
	if err := o.file.Sync(); err != nil {
		return err
	}
	size, err := o.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	return o.storeAt(size, loader)
}

func (o *output) storeAt(size int64, loader *iterator.Loader) error {
	state, err := loader.State()
	if err != nil {
		return err
	}
	text, err := json.Marshal(place{state, size})
	if err != nil {
		return err
	}
	f, err := os.Create(o.state + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(o.state+".new", o.state)
}

func (o *output) close() error { return o.file.Close() }
