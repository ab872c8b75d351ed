package remote

import (
	"net/http"
	"time"
)

const (
	writeTime = 30 * time.Second // in which a row must have gone

	// Whoever asked is woken by each piece that comes, which takes its processor as long as it takes
	// to copy a picture. So rows that are made soon one after the other go out together.
	soon     = 4 * time.Millisecond // from the row before to the last one
	together = 8 * time.Millisecond // for so long rows are kept back for the next one
	mostKept = 512 << 10            // bytes that are kept back
	longRow  = 256 << 10            // bytes of a row that is not kept back
)

// outgoing sends an answer.
type outgoing struct {
	w       http.ResponseWriter
	control *http.ResponseController
	kept    []byte        // has not gone out
	since   time.Time     // when the first of them was there
	last    time.Time     // when the last row was there
	gap     time.Duration // from the row before it
	timer   *time.Timer
}

// begin keeps what stands in front of the rows; the answer has it from now on.
func (o *outgoing) begin(head []byte) {
	o.kept, o.last = head, time.Now()
	o.since = o.last
}

// next waits for a row. What is kept back goes out meanwhile, where the row does not come soon.
func (o *outgoing) next(one <-chan []byte) ([]byte, error) {
	select {
	case row := <-one:
		return row, nil
	default:
	}
	if len(o.kept) > 0 && o.gap < soon {
		left := time.Until(o.since.Add(together))
		if o.timer == nil {
			o.timer = time.NewTimer(left)
		} else {
			o.timer.Reset(left)
		}
		select {
		case row := <-one:
			return row, nil
		case <-o.timer.C:
		}
	}
	if len(o.kept) > 0 {
		if err := o.write(); err != nil {
			return nil, err
		}
		_ = o.control.Flush() // a writer without keeps it to the end
	}
	return <-one, nil
}

// add sends a row, or keeps it back.
func (o *outgoing) add(row []byte) error {
	now := time.Now()
	o.gap, o.last = now.Sub(o.last), now
	if len(row) >= longRow {
		if err := o.write(); err != nil {
			return err
		}
		return o.send(row)
	}
	if len(o.kept) == 0 {
		o.since = now
	}
	o.kept = append(o.kept, row...)
	if len(o.kept) < mostKept {
		return nil
	}
	return o.write()
}

// write writes what is kept back. It is on its way when the writer's buffer is full, flushed, or the answer
// ends.
func (o *outgoing) write() error {
	if len(o.kept) == 0 {
		return nil
	}
	err := o.send(o.kept)
	o.kept = o.kept[:0]
	return err
}

func (o *outgoing) send(b []byte) error {
	_ = o.control.SetWriteDeadline(time.Now().Add(writeTime))
	_, err := o.w.Write(b)
	return err
}
