package parquet

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/pipeline/datum"
)

var errNull = errors.New("the value is missing (null)")

// value returns the place of the value of a row of a column without lists.
func (b *block) value(row int) (int, error) {
	if b.at == nil {
		return row, nil
	}
	if b.at[row] == missing {
		return 0, errNull
	}
	return int(b.at[row]), nil
}

// array returns the byte array of a row.
func (b *block) array(row int) ([]byte, error) {
	i, err := b.value(row)
	if err != nil {
		return nil, err
	}
	if b.dictionary != nil {
		b, i = b.dictionary.block, int(b.ids[i])
	}
	return b.values[b.spans[2*i]:b.spans[2*i+1]], nil
}

// put makes a tensor of a row. Shape is that of every row, nil where none is given.
func (b *block) put(t *datum.Tensor, l *leaf, row int, shape []int) error {
	var mem []byte
	var dims [datum.MaxDims]int
	own := dims[:0]
	switch {
	case l.bytes():
		var err error
		if mem, err = b.array(row); err != nil {
			return err
		}
		own = append(own, len(mem))
	case l.flat():
		i, err := b.value(row)
		if err != nil {
			return err
		}
		size := l.size
		if l.narrow {
			size = l.dtype.Size()
		}
		mem = b.values[i*size : (i+1)*size]
		if l.pieces() {
			own = append(own, size)
		}
	default:
		n, err := b.dims(l, row, own)
		if err != nil {
			return err
		}
		size := l.dtype.Size()
		own = dims[:n]
		mem = b.values[int(b.first[row])*size : int(b.first[row+1])*size]
	}
	if shape != nil {
		if err := fits(own, shape); err != nil {
			return err
		}
		own = shape
	}
	to, err := t.Resize(own...)
	if err != nil {
		return err
	}
	copy(to, mem)
	return nil
}

// fits returns an error where a row is not of a shape. A row of one dimension may be
// given any shape of as many elements.
func fits(own, shape []int) error {
	have, want := 1, 1
	for _, d := range own {
		have *= d
	}
	for _, d := range shape {
		want *= d
	}
	same := have == want
	if len(own) > 1 {
		same = len(own) == len(shape)
		for i := range min(len(own), len(shape)) {
			same = same && own[i] == shape[i]
		}
	}
	switch {
	case same:
		return nil
	case len(own) <= 1:
		return fmt.Errorf("the row has %d elements; %v are declared", have, append([]int{}, shape...))
	}
	return fmt.Errorf("the row is %v; %v is declared", append([]int{}, own...), append([]int{}, shape...))
}

var errRagged = errors.New("the lists within the row differ in length, so that it is no array")

// dims appends the extents of the lists of a row to dst, from the outermost in, and
// returns how many there are.
func (b *block) dims(l *leaf, row int, dst []int) (int, error) {
	rep, def := b.rep[b.begin[row]:b.begin[row+1]], b.def[b.begin[row]:b.begin[row+1]]
	n := int(b.first[row+1] - b.first[row])
	deep := len(l.lists)
	if n == 0 { // one empty list, or several of empty ones
		return emptyDims(l, rep, def, dst[:deep])
	}
	if n != len(def) {
		for _, d := range def {
			if int(d) < l.lists[deep-1] {
				return 0, errRagged // an empty list beside others
			}
		}
		return 0, errNull
	}
	dst = dst[:deep]
	each := n // elements of one list of a depth
	for k := deep - 1; k > 0; k-- {
		// The first list of a depth ends where another one, or one further out, begins.
		end := each
		for i := 1; i < n; i++ {
			if int(rep[i]) <= k {
				end = i
				break
			}
		}
		dst[k] = end
		for j := k + 1; j < deep; j++ {
			dst[k] /= dst[j]
		}
	}
	inner := 1
	for _, d := range dst[1:] {
		inner *= d
	}
	if inner == 0 || n%inner != 0 {
		return 0, errRagged
	}
	dst[0] = n / inner
	return deep, regular(rep, dst)
}

// regular checks that lists begin where arrays of some extents have them begin.
func regular(rep []byte, dims []int) error {
	for i := 1; i < len(rep); i++ {
		want, size := len(dims), 1
		for k := len(dims) - 1; k > 0; k-- {
			if size *= dims[k]; i%size != 0 {
				break
			}
			want = k
		}
		if int(rep[i]) != want {
			return errRagged
		}
	}
	return nil
}

// emptyDims are the extents of a row without elements.
func emptyDims(l *leaf, rep, def []byte, dst []int) (int, error) {
	clear(dst)
	depth := 0 // of lists that have elements
	for depth < len(l.lists) && int(def[0]) >= l.lists[depth] {
		depth++
	}
	if depth == len(l.lists) || int(def[0]) < l.lists[depth]-1 {
		return 0, errNull
	}
	if depth == 0 {
		return len(dst), nil
	}
	for i := range def {
		if def[i] != def[0] || i > 0 && int(rep[i]) != 1 || depth > 1 {
			return 0, errRagged
		}
	}
	dst[0] = len(def)
	return len(dst), nil
}
