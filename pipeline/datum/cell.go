package datum

// Cell is a tensor as whoever runs kernels and readers has it: package pipeline, or a test
// that wants to say where the samples lie. Kernels and readers get its Tensor.
//
// A sample lies in a row that Bind gives to the cell, or else in memory that the cell asks
// its Memory for.
type Cell struct{ Tensor }

// Memory is where samples lie that have no row.
type Memory interface {
	// Memory returns n bytes. They begin with what the bytes hold that it returned
	// before, which are not used any more.
	Memory(n int) ([]byte, error)
}

// SetMemory says where the cell's memory comes from; nil is Go's heap.
func (c *Cell) SetMemory(m Memory) { c.home = m }

// Bind makes row, which is one row of an array of samples, the memory of the samples of c
// from now on; nil ends that. What was declared of c must be dense, and row must have the
// bytes of a sample. Row stays the caller's.
func (c *Cell) Bind(row []byte) { c.row = row }

// Fill says that the row of c holds a sample already, which c shows from then on. It
// reports false, and does nothing, where c has no row.
func (c *Cell) Fill() bool {
	if c.row == nil {
		return false
	}
	c.data, c.written = c.row, true
	return true
}

// Own copies a sample that a reader has lent (Tensor.Lend) into memory of the cell. It does
// nothing for other samples. The error is that of Memory.
func (c *Cell) Own() error {
	if !c.lent {
		return nil
	}
	mem, err := c.memory(len(c.data))
	if err != nil {
		return err
	}
	copy(mem, c.data)
	c.data, c.lent = mem, false
	return nil
}

// Take makes c show the sample of from, and from shows nothing afterwards. Each keeps its
// Memory: whoever provides it exchanges the bytes.
func (c *Cell) Take(from *Cell) {
	home := c.home
	c.Tensor = from.Tensor
	c.home, from.data = home, nil
}

// Clear makes c an empty sample of what was declared.
func (c *Cell) Clear() {
	c.reset()
	c.data = nil
	clear(c.dims[:])
}

// Shown returns the memory of the sample that t has now, nil if it has none. Tensor.Bytes is
// for operators and readers, and gives an output memory that has none.
func Shown(t *Tensor) []byte { return t.data }

// RowOf returns the row that Cell.Bind has given to t, nil if it has none.
func RowOf(t *Tensor) []byte { return t.row }
