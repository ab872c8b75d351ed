package budget

import (
	"fmt"

	"github.com/planktonml/plankton/memstats"
)

// Kind says what is to be done.
type Kind uint8

// Every Begin, Admit and Want is answered by one of the first four, perhaps much later.
const (
	Go     Kind = iota + 1 // Worker's Begin, Admit or Want is granted
	GiveUp                 // it is not: the sample ends, and is made again later
	Refuse                 // the Want is refused: Err is the sample's error
	Leave                  // the Want is refused: the run is over, nobody waits for the sample

	Keep        // what the sequence has delivered to Worker is put aside for Sample, if it was read
	FreeScratch // the memory of Worker is freed
	FreeRow     // the memory of Sample's row is freed
	FreeBatch   // the memory of all rows of the batch in Slot is freed
	Again       // Sample is to be made again; answered with Remade
	Complete    // Batch leaves: it is lent, or Err is there in its place
)

// Act is something that is to be done. The fields that its Kind names are set, and Slot
// with Sample and with Batch: where the batch is that they belong to.
type Act struct {
	Kind   Kind
	Worker int
	Sample int64
	Batch  int64
	Slot   int
	Err    error
}

// Answers reports whether the act answers a Begin, Admit or Want.
func (a Act) Answers() bool { return a.Kind <= Leave }

// act has something done.
func (m *Machine) act(a Act) { m.acts = append(m.acts, a) }

// Next returns what is to be done next, and false when there is nothing. What an act
// frees is to be told (Gave) before the next call.
func (m *Machine) Next() (Act, bool) {
	for m.given == len(m.acts) {
		m.acts, m.given = m.acts[:0], 0
		if !m.changed {
			return Act{}, false
		}
		m.changed = m.step()
	}
	a := m.acts[m.given]
	m.given++
	return a, true
}

// BatchError is a batch whose samples do not fit together, or not beside those that the
// consumer holds.
type BatchError struct {
	Held       int   // batches with the consumer
	Made, Rows int   // rows of the batch that had been made, of so many
	Estimate   int64 // bytes of a budget that would probably do, going by the rows there are
	Err        *memstats.BudgetError
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("a batch does not fit beside %d that are held: after %d of its %d rows, %v", e.Held, e.Made, e.Rows, e.Err)
}

func (e *BatchError) Unwrap() error { return e.Err }

// tooLarge returns the error of a batch that does not fit, at a sample that waits.
func (m *Machine) tooLarge(c *claim) *BatchError {
	rows, made := int64(m.cfg.Rows), int64(0)
	for _, r := range m.batch(m.next).rows {
		if r.ended {
			made++
		}
	}
	least := m.cfg.Fixed + m.used + c.want
	if known := int64(m.lent)*rows + made; known > 0 { // rows that hold all but what the worker has
		perRow := max(0, m.used-c.held) / known
		least += perRow * (rows - made - 1)
	}
	return &BatchError{
		Held: m.lent, Made: int(made), Rows: m.cfg.Rows,
		Estimate: least + least/4, // batches differ, and a later one must not fail by a little
		Err:      m.over(c.want, m.used),
	}
}

// over returns the error of bytes that do not fit. The figures are those of the whole
// budget, with what was set aside.
func (m *Machine) over(need, used int64) *memstats.BudgetError {
	return &memstats.BudgetError{Need: need, Used: used + m.cfg.Fixed, Limit: m.limit + m.cfg.Fixed}
}
