// Package feedtest has the feed of tests that run a pipeline without an iterator.
package feedtest

// Feed is a pipeline.Feed of samples in their order, in one world. Once and Endless make
// the usual ones.
type Feed struct {
	Samples int64 // of the data set, which begins anew behind its last one
	Batch   int64 // rows of a batch
	Batches int64 // in all; 0 is no end
	Epoch   int64 // batches of an epoch, each of which begins with sample 0; 0 is one epoch
	Shift   int64 // by how much the samples of a reader are ahead of those of the reader before
	Short   bool  // the batch that reaches the last sample ends with it
}

// Once reads samples 0 … n-1, in batches of which the last may be short.
func Once(n, batch int64) Feed {
	return Feed{Samples: n, Batch: batch, Batches: (n + batch - 1) / batch, Short: true}
}

// Endless reads samples 0 … n-1 again and again, in full batches of one epoch.
func Endless(n, batch int64) Feed { return Feed{Samples: n, Batch: batch} }

// Locate implements pipeline.Feed.
func (f Feed) Locate(seq int64) (epoch, step int64, ok bool) {
	ok = f.Batches == 0 || seq < f.Batches
	if f.Epoch > 0 {
		return seq / f.Epoch, seq % f.Epoch, ok
	}
	return 0, seq, ok
}

// AppendBatch implements pipeline.Feed.
func (f Feed) AppendBatch(dst []int64, reader int, _, step int64) []int64 {
	first, rows := step*f.Batch, f.Batch
	if f.Short {
		rows = min(rows, f.Samples-first)
	}
	for row := range rows {
		dst = append(dst, (first+row+int64(reader)*f.Shift)%f.Samples)
	}
	return dst
}
