package run

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/executor"
)

// A request on probation that ends late is refunded its rows, also where another batch has its flight by now and a row at the same
// place of it is compared: else the process would wait for rows that nobody asks for.
func TestRefundOfALateRequest(t *testing.T) {
	h := &house{compared: map[rowPlace]check{}}
	p := &trust{need: 4, asked: 4}
	p.changed.L = &h.mu
	f := new(Flight)
	l, other := &lane{h: h, began: 1, probing: 2, charged: p, probed: "process"}, &lane{h: h, began: 2}
	for row := range 2 {
		l.rows = append(l.rows, laneRow{t: executor.Taken{Row: row}, f: f})
	}
	h.compared[rowPlace{f, 0}] = check{instance: "process", l: other, began: 2}
	h.compared[rowPlace{f, 1}] = check{instance: "process", l: l, began: 1}
	h.refund(l)
	require.Equal(t, 3, p.asked, "the second row is being compared")
}
