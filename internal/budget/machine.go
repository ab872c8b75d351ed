package budget

// Config is what a Machine knows of its run.
type Config struct {
	Budget   int64 // bytes in all
	Fixed    int64 // bytes of them that were set aside
	Workers  int
	Slots    int  // places for batches, in flight, lent and idle
	Rows     int  // samples of a batch
	Sequence bool // samples cannot be read again
	OneByOne bool // no sample goes on before the batches in front of its own are complete
}

// Machine is the state. Its documentation is that of the package.
type Machine struct {
	cfg   Config
	limit int64 // of what was not set aside
	share int64 // bytes of scratch that a worker may keep from sample to sample
	used  int64

	claims  []claim        // by worker
	batches []batch        // in flight, by number modulo slots
	spare   []bool         // by slot: nobody has the batch, and its rows may hold memory
	again   map[int64]bool // samples that are to be made again and have not begun

	next   int64 // the oldest batch that is not complete
	lent   int   // batches that were completed and have not come back
	held   int   // those of them that the consumer holds
	fresh  int64 // the sample that begins anew, -1 for none
	parked bool
	asking bool  // the consumer waits for a batch
	ended  Kind  // how a Want ends that cannot be granted at once: Refuse, Leave, or 0 while the run lasts
	why    error // with Refuse

	acts    []Act
	given   int  // acts that Next has returned
	changed bool // since step was called last
}

// claim is what a worker is doing about memory.
type claim struct {
	stage   stage
	sample  int64
	want    int64 // bytes that it waits for
	held    int64 // bytes of scratch while it waits
	forced  bool  // what it takes now must not wait: a sequence is delivering
	scratch bool  // of an idle worker: it may hold memory
	end     Kind  // GiveUp or Leave if the sample ends so, else 0
}

// stage is how far a worker is with a sample.
type stage uint8

const (
	idle      stage = iota
	beginning       // it waits to begin
	working
	entering // it has been read, and waits to go on
	wanting  // it waits for bytes
)

// waits reports whether younger samples wait for this one.
func (c *claim) waits() bool { return c.stage >= entering }

// batch is one in flight.
type batch struct {
	seq  int64 // its number, -1 where there is none
	slot int   // where its memory is
	due  int   // calls of RowsDone that are still to come
	rows []row
	err  error // what leaves in its place
}

// row is one of a batch in flight.
type row struct {
	ended   bool // its sample has a result or an error
	settled bool // with a result, which holds memory that may be taken back
	holds   bool // it may hold memory
}

// New returns the machine of a run in which nothing is held but what was set aside.
func New(cfg Config) *Machine {
	m := &Machine{
		cfg: cfg, limit: cfg.Budget - cfg.Fixed, again: map[int64]bool{},
		claims: make([]claim, cfg.Workers), batches: make([]batch, cfg.Slots), spare: make([]bool, cfg.Slots),
	}
	m.share = m.limit / int64(2*cfg.Workers)
	for i := range m.batches {
		m.batches[i].rows = make([]row, cfg.Rows)
	}
	m.Reset()
	return m
}

// Reset readies the machine for a run from batch 0 on. No worker is at work. What is held
// stays held: scratch, and rows of batches that are idle now.
func (m *Machine) Reset() {
	for i := range m.claims {
		m.claims[i] = claim{scratch: true}
	}
	for i := range m.batches {
		m.batches[i].seq, m.batches[i].err = -1, nil
		m.spare[i] = true
	}
	clear(m.again)
	m.next, m.lent, m.held, m.fresh, m.ended, m.why = 0, 0, 0, -1, 0, nil
	m.acts, m.given, m.changed = m.acts[:0], 0, false
}

// Used returns the bytes that are held beside what was set aside.
func (m *Machine) Used() int64 { return m.used }

// Reserve takes n bytes before the run, or for a batch that is new, or returns a
// *memstats.BudgetError.
func (m *Machine) Reserve(n int64) error {
	if n > m.limit-m.used {
		return m.over(n, m.used)
	}
	m.used += n
	return nil
}

// Gave says that n bytes were given back, or if negative, that as many were taken which
// cannot wait.
func (m *Machine) Gave(n int64) {
	m.used -= n
	m.changed = m.changed || n > 0
}

// Begin says that a worker is to make a sample; read, that its sequence has delivered it
// before.
func (m *Machine) Begin(worker int, sample int64, read bool) {
	c := &m.claims[worker]
	c.stage, c.sample, c.forced = beginning, sample, m.cfg.Sequence && !read
	switch {
	case c.forced: // or the samples behind it wait for their turn in the sequence
		m.letBegin(worker)
	case m.parked:
		m.sendBack(worker)
	default:
		m.changed = true
	}
}

// Admit says that the sequence has delivered a worker's sample.
func (m *Machine) Admit(worker int) {
	c := &m.claims[worker]
	c.forced = false
	m.wait(worker, entering, 0, 0)
}

// Want says that a worker's sample wants n bytes, and that its worker holds so many.
func (m *Machine) Want(worker int, n, held int64) {
	if c := &m.claims[worker]; c.forced {
		m.used += n
		m.act(Act{Kind: Go, Worker: worker})
		return
	}
	m.wait(worker, wanting, n, held)
}

// wait has a sample wait, but where it is to give up.
func (m *Machine) wait(worker int, s stage, n, held int64) {
	c := &m.claims[worker]
	c.stage, c.want, c.held = s, n, held
	if m.parked || c.end == GiveUp {
		m.giveUp(worker)
		return
	}
	m.changed = true
}

// End says that the work on a sample is over, well or not, that its worker holds so many
// bytes of scratch, and whether the sample's row holds any. It returns 0 if the sample is
// settled, GiveUp if it is made again, Leave if nobody waits for it.
func (m *Machine) End(worker int, good bool, scratch int64, holds bool) Kind {
	c := &m.claims[worker]
	sample, end := c.sample, c.end
	*c = claim{scratch: scratch > 0}
	m.changed = true
	if end == GiveUp {
		if m.cfg.Sequence {
			m.act(Act{Kind: Keep, Worker: worker, Sample: sample, Slot: m.slot(sample)})
		}
		m.freeScratch(worker)
		m.freeRow(sample)
		m.makeAgain(sample)
		return end
	}
	if scratch > m.share {
		m.freeScratch(worker)
	}
	r := m.row(sample)
	*r = row{ended: true, settled: good && end == 0, holds: holds}
	if sample == m.fresh {
		m.fresh = -1
	}
	return end
}

// Drop says that the sample at which a worker is has come to nothing, for a reason that is no
// concern of the budget: End makes it again.
func (m *Machine) Drop(worker int) {
	if c := &m.claims[worker]; c.end == 0 {
		c.end = GiveUp
	}
}

// Remake says that a sample of a batch in flight, which nobody has begun, will not be begun by
// those who were to. It is made by somebody else, in front of all that is younger.
func (m *Machine) Remake(sample int64) {
	m.again[sample] = true
	m.changed = true
}

// Park makes samples that wait give up, as soon as they do, or lets them wait again.
func (m *Machine) Park(parked bool) {
	m.parked = parked
	for w := range m.claims {
		if c := &m.claims[w]; parked && c.waits() {
			m.giveUp(w)
		} else if parked && c.stage == beginning {
			m.sendBack(w)
		}
	}
}

// Abandon says that the run is over: nobody waits for its samples.
func (m *Machine) Abandon() {
	if m.ended == 0 {
		m.ended, m.changed = Leave, true
	}
}

func (m *Machine) row(sample int64) *row {
	n := int64(m.cfg.Rows)
	return &m.batch(sample / n).rows[sample%n]
}

// slot returns where the batch of a sample in flight is.
func (m *Machine) slot(sample int64) int { return m.batch(sample / int64(m.cfg.Rows)).slot }

func (m *Machine) batch(seq int64) *batch { return &m.batches[seq%int64(len(m.batches))] }
