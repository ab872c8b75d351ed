//go:build !noasm

package jpeg

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// TestLayout checks what the assembly generator takes for granted.
func TestLayout(t *testing.T) {
	var r bitReader
	assert.EqualValues(t, 0, unsafe.Offsetof(r.bits))
	assert.EqualValues(t, 8, unsafe.Offsetof(r.n))
	assert.EqualValues(t, 16, unsafe.Offsetof(r.pos))
	assert.EqualValues(t, 24, unsafe.Offsetof(r.window))
	var c scanComponent
	assert.EqualValues(t, 0, unsafe.Offsetof(c.dc))
	assert.EqualValues(t, 8, unsafe.Offsetof(c.ac))
	assert.EqualValues(t, 16, unsafe.Offsetof(c.quant))
	assert.EqualValues(t, 24, unsafe.Offsetof(c.stride))
	assert.EqualValues(t, 32, unsafe.Offsetof(c.pred))
	assert.Zero(t, unsafe.Offsetof(dcTable{}.fast))
	assert.Zero(t, unsafe.Offsetof(acTable{}.fast))
	assert.Equal(t, [...]int{10, 9, 64, 128, 192, 18}, [...]int{acBits, dcBits, blockSize, advanceEnd, advanceEscape, maxLookup})
}
