package lookahead

import (
	"cmp"
	"slices"
)

// Range is a stretch of an object that reading a sample asks for.
type Range struct{ Object, Offset, Length int64 }

// end returns the first byte behind the range.
func (r *Range) end() int64 { return r.Offset + r.Length }

// Ranges of an object are fetched together where the bytes between them cost less than another
// request, up to a size at which a request is as cheap for a byte as it gets. What is between
// neighbours of an archive is always less. A larger gap must not be larger than the ranges around
// it.
const (
	neighbourBytes = 8 << 10
	gapBytes       = 64 << 10
	requestBytes   = 4 << 20
)

// window is a stretch of the plan whose ranges are fetched together. Run.mu guards it once it is
// in Run.windows.
type window struct {
	rows     []row // by place
	pieces   []piece
	requests []*request // in the order in which they are needed
	left     int        // pieces that nobody has taken
}

// row is a sample that is to be read.
type row struct{ place, sample int64 }

// piece is a range of a row. Those of a row follow each other, and rows are in order.
type piece struct {
	Range
	row     int32
	taken   bool // a read has it, or will not come
	request *request
}

// add appends a row with its ranges, of which empty ones need not be fetched.
func (w *window) add(place, sample int64, ranges []Range) {
	w.rows = append(w.rows, row{place, sample})
	for _, r := range ranges {
		if r.Length > 0 {
			w.pieces = append(w.pieces, piece{Range: r, row: int32(len(w.rows) - 1)})
			w.left++
		}
	}
}

// join makes the requests, of which none is larger than most unless a range is. Where they have
// more bytes than the bound they are made anew without the gaps between ranges, so that small samples
// from everywhere do not fill the memory with what lies between them.
func (w *window) join(most, bound int64) {
	if w.joined(most, true) > bound {
		w.joined(most, false)
	}
}

// joined makes the requests and returns their bytes.
func (w *window) joined(most int64, gaps bool) (bytes int64) {
	w.requests = nil
	order := make([]int32, len(w.pieces))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		p, q := &w.pieces[a].Range, &w.pieces[b].Range
		return cmp.Or(cmp.Compare(p.Object, q.Object), cmp.Compare(p.Offset, q.Offset), cmp.Compare(a, b))
	})
	var q *request
	for _, i := range order {
		p := &w.pieces[i]
		if q == nil || !q.extend(&p.Range, most, gaps) {
			q = &request{Range: p.Range, first: i, done: make(chan struct{})}
			w.requests = append(w.requests, q)
		}
		q.first = min(q.first, i)
		q.needed += p.Length
		q.left++
		p.request = q
	}
	slices.SortFunc(w.requests, func(a, b *request) int { return cmp.Compare(a.first, b.first) })
	for _, q := range w.requests {
		bytes += q.Length
	}
	return bytes
}

// extend makes a request reach to the end of a range that begins in it or behind it, and reports
// whether that is worth it.
func (q *request) extend(r *Range, most int64, gaps bool) bool {
	end, gap := max(q.end(), r.end()), r.Offset-q.end()
	worth := max(neighbourBytes, min(gapBytes, q.needed+r.Length))
	if !gaps {
		worth = 0
	}
	if r.Object != q.Object || gap > worth || end-q.Offset > most {
		return false
	}
	q.Length = end - q.Offset
	return true
}

// of returns the pieces of the row at a place, none where there is no such row.
func (w *window) of(place int64) (sample int64, pieces []piece) {
	i, found := slices.BinarySearchFunc(w.rows, place, func(r row, at int64) int { return cmp.Compare(r.place, at) })
	if !found {
		return 0, nil
	}
	from, to := w.piecesFrom(int32(i)), w.piecesFrom(int32(i)+1)
	return w.rows[i].sample, w.pieces[from:to]
}

// piecesFrom returns the first piece of a row or of one behind it.
func (w *window) piecesFrom(row int32) int {
	i, _ := slices.BinarySearchFunc(w.pieces, row, func(p piece, at int32) int { return cmp.Compare(p.row, at) })
	return i
}

// last returns the place of the last row.
func (w *window) last() int64 { return w.rows[len(w.rows)-1].place }
