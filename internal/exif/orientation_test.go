package exif

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// file returns a TIFF file whose directory has an orientation as its second entry.
func file(order binary.AppendByteOrder, magic string, kind uint16, field []byte) []byte {
	p := order.AppendUint32([]byte(magic), 8)
	p = order.AppendUint16(p, 2)
	entry := func(tag, kind uint16, field []byte) {
		p = order.AppendUint16(p, tag)
		p = order.AppendUint16(p, kind)
		p = order.AppendUint32(p, 1)
		p = append(append(p, field...), make([]byte, 4-len(field))...)
	}
	entry(0x0100, 3, order.AppendUint16(nil, 9))
	entry(tagOrientation, kind, field)
	return p
}

func TestOrientation(t *testing.T) {
	for _, tiff := range []struct {
		order binary.AppendByteOrder
		magic string
		wrong string
	}{
		{binary.LittleEndian, "II*\x00", "MM*\x00"},
		{binary.BigEndian, "MM\x00*", "II\x00*"},
	} {
		for v := range 12 {
			want := v
			if v > 8 {
				want = 0
			}
			for kind, field := range map[uint16][]byte{
				1: {byte(v)}, 3: tiff.order.AppendUint16(nil, uint16(v)), 4: tiff.order.AppendUint32(nil, uint32(v)),
			} {
				whole := file(tiff.order, tiff.magic, kind, field)
				require.Equal(t, want, Orientation(whole), "type %d", kind)
				require.Zero(t, Orientation(file(tiff.order, tiff.wrong, kind, field)))
				for n := range len(whole) {
					require.Zero(t, Orientation(whole[:n]), "%d bytes", n)
				}
			}
			require.Zero(t, Orientation(file(tiff.order, tiff.magic, 2, []byte{byte(v)})), "text")
		}
		require.Zero(t, Orientation(file(tiff.order, tiff.magic, 4, tiff.order.AppendUint32(nil, 1<<16+6))), "LONG counts whole")
	}
	require.Zero(t, Orientation(nil))
	far := binary.LittleEndian.AppendUint32([]byte("II*\x00"), 0xFFFFFFFF)
	require.Zero(t, Orientation(far))
}
