// Package budget decides who may take memory while the samples of a run are made, so
// that the run stays within a number of bytes and never waits for ever.
//
// A [Machine] is a state machine. It is told what happens (Begin, Admit, Want, End, Gave,
// Armed, RowsDone, Delivered, Returned, Ask, Park, Abandon), and says what is to be done
// (Next returns one Act after the other). It knows workers, samples, batches and slots by
// their numbers. It has no lock, no goroutine, no clock and no pointer into the run:
// whoever owns it calls it from one goroutine at a time and carries the acts out.
//
// # Words
//
// A sample is a row, counted over all batches of the run. A worker makes one sample at a
// time, in scratch memory of its own. What it has made for an output whose samples differ
// in size moves into the row of the batch. A batch is in flight from Armed to Complete,
// lent from then on until Returned, and held by the consumer from Delivered on. Memory of
// a fixed size is set aside (Config.Fixed); all else is shared by scratch and rows.
//
// # The rules
//
// Samples have an order, that of their numbers. The oldest sample at work always moves:
//
//  1. A sample that wants bytes which are not free waits. While it waits, younger samples
//     get none and none of them begins. So the others either finish, or wait as well.
//  2. Before anybody waits, what nobody uses is freed: the scratch of idle workers, and the
//     rows of batches that came back. A worker that waits to begin is idle.
//  3. When all wait, everybody but the oldest gives up. A sample is a pure function of its
//     index: its scratch is freed, and it is made again later.
//  4. Then the rows are freed that no worker has begun, which still hold what an earlier
//     batch has left there, and finished rows younger than the oldest sample. Those are
//     made again as well.
//  5. If a sample that is older still is to be made again, the one that waits gives up for
//     it: its worker may be the only one that can make it.
//  6. Then the oldest sample begins anew, without the memory that its worker has kept from
//     earlier samples.
//  7. What is left is its own need, older rows of its batch, and older batches. If its own
//     need exceeds the budget, the sample fails, whatever the others do.
//  8. If an older batch is in flight, or lent and not held, the sample waits: that batch is
//     about to be finished or to come back.
//  9. If every lent batch is held by a consumer that asks for this batch, or if none is
//     lent, nothing is left to come back: the batch fails, and the run with it.
//
// Batches are completed in order: one whose rows are done stays in flight while an older
// one is at work, so that rule 4 can take its rows.
//
// # Sequences
//
// A sequence cannot be read again (Config.Sequence). What its reader delivers is taken
// whether it fits or not, and put aside for a sample that gives up (Keep). A sample begins
// without waiting, and waits when it has been read instead (Admit). Finished rows cannot
// be made again, so rule 4 leaves them alone. Where rows hold memory, no sample goes on
// before the batches in front of its own are complete (Config.OneByOne).
//
// # Ends
//
// Park makes all that wait give up, so that the workers can rest. After a batch failed, or
// after Abandon, a Want that cannot be granted at once is refused.
package budget
