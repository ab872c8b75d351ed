package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/rows"
)

func TestRequestComesBack(t *testing.T) {
	q := &rows.Request{Seed: 1 << 63, Keys: []rows.Key{{Epoch: 3, IDs: []int64{5, 1 << 40}}, {Epoch: -1, IDs: []int64{0, 7}}}}
	got, err := parseRequest(appendRequest(nil, q), 2)
	require.NoError(t, err)
	require.Equal(t, q, got)
}

func FuzzRequest(f *testing.F) {
	f.Add(appendRequest(nil, &rows.Request{Keys: []rows.Key{{IDs: []int64{1}}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := parseRequest(b, 1)
		if err != nil {
			return
		}
		b[1] = 0
		require.Equal(t, b, appendRequest(nil, q), "what can be read is what is written")
	})
}

// keeper is an Answer that keeps what comes, but for the rows that it does not want.
type keeper struct {
	unwanted int
	text     []string
	value    []byte
}

func (k *keeper) From(string) error { return nil }
func (k *keeper) Received(int64)    {}
func (k *keeper) Failed(i int, why string) {
	k.text = append(k.text, fmt.Sprint(i, " failed: ", why))
}

func (k *keeper) Row(i int) rows.Row {
	if i == k.unwanted {
		return nil
	}
	k.text = append(k.text, fmt.Sprint(i))
	return k
}

func (k *keeper) Value(t datum.DType, l datum.Layout, shape []int) ([]byte, error) {
	n := t.Size()
	for _, d := range shape {
		n *= d
	}
	if n > 1<<20 {
		return nil, errors.New("more than is wanted")
	}
	k.text = append(k.text, fmt.Sprint(t, l, shape))
	k.value = make([]byte, n)
	return k.value, nil
}

func (k *keeper) End() { k.text = append(k.text, fmt.Sprint("end ", k.value)) }

func answer(t testing.TB, rows int, values ...*datum.Tensor) []byte {
	b := appendAnswerHead(nil, len(values), rows)
	for i := range rows {
		var err error
		if b, err = appendRow(b, values, nil); i == 1 {
			b = appendFailure(b, "no file")
		}
		require.NoError(t, err)
	}
	return b
}

func tensor(t testing.TB, spec datum.Spec, shape []int, data ...byte) *datum.Tensor {
	c := new(datum.Cell)
	c.Declare(&spec)
	mem, err := c.Resize(shape...)
	require.NoError(t, err)
	copy(mem, data)
	return &c.Tensor
}

func TestAnswerComesBack(t *testing.T) {
	x := tensor(t, datum.Spec{DType: datum.Uint8, Layout: "HW", Shape: []int{-1, 2}}, []int{2, 2}, 1, 2, 3, 4)
	y := tensor(t, datum.Spec{DType: datum.Int16}, nil, 5, 0)
	b := appendAnswerHead(nil, 2, 3)
	b, err := appendRow(b, []*datum.Tensor{x, y}, nil)
	require.NoError(t, err)
	b = appendFailure(b, "no file")
	b, err = appendRow(b, []*datum.Tensor{x, y}, nil)
	require.NoError(t, err)
	q := &rows.Request{Keys: make([]rows.Key, 3)}
	want := []string{"0", "uint8HW[2 2]", "int16[]", "end [5 0]", "1 failed: no file", "2", "uint8HW[2 2]", "int16[]", "end [5 0]"}
	for unwanted := range 4 {
		k := &keeper{unwanted: unwanted}
		r := &answerReader{body: bytes.NewReader(b)}
		require.NoError(t, r.read(q, 2, k))
		require.EqualValues(t, len(b), r.n)
		left := slices.Clone(want)
		switch unwanted {
		case 0:
			left = left[4:]
		case 2:
			left = left[:5]
		}
		require.Equal(t, left, k.text)
	}
	for n := range b {
		require.Error(t, (&answerReader{body: bytes.NewReader(b[:n])}).read(q, 2, &keeper{unwanted: -1}), "%d bytes", n)
	}
	require.ErrorContains(t, (&answerReader{body: bytes.NewReader(append(b, 0))}).read(q, 2, &keeper{unwanted: -1}), "more bytes")
}

func FuzzAnswer(f *testing.F) {
	x := tensor(f, datum.Spec{DType: datum.Uint8, Layout: "HW", Shape: []int{-1, 2}}, []int{2, 2}, 1, 2, 3, 4)
	f.Add(answer(f, 1, x))
	f.Fuzz(func(t *testing.T, b []byte) {
		q := &rows.Request{Keys: make([]rows.Key, 1)}
		_ = (&answerReader{body: bytes.NewReader(b)}).read(q, 1, &keeper{unwanted: -1})
	})
}

// A worker that does not come back is asked less and less often, and one that comes back is
// asked within a second.
func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backOff{least: leastWait, most: mostWait}
		began := time.Now()
		for range 30 {
			last := time.Now()
			require.True(t, b.wait(t.Context()))
			require.LessOrEqual(t, time.Since(last), mostWait)
		}
		require.Greater(t, time.Since(began), 25*mostWait/2, "30 tries")
		b.reset()
		last := time.Now()
		require.True(t, b.wait(t.Context()))
		require.LessOrEqual(t, time.Since(last), leastWait)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.False(t, b.wait(ctx))
	})
}

// house is a rows.House whose lanes last as long as their context.
type house struct {
	rows.House
	mu    sync.Mutex
	notes []string
}

func (h *house) Note(name string, n rows.Note, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, fmt.Sprint(name, " ", n))
}

// A name is looked up again: addresses that are new are asked, those that are gone are not,
// and a name that cannot be looked up keeps what it had.
func TestNamesAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := &house{}
		var mu sync.Mutex // also has what the test has looked at come before what a lookup changes
		var ips []string
		var failure error
		answer := func(names []string, err error) {
			mu.Lock()
			defer mu.Unlock()
			ips, failure = names, err
		}
		o := (&Workers{Refresh: 15 * time.Second}).withDefaults()
		c := &client{o: o, house: h, ctx: ctx, lookup: func(context.Context, string) ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			return ips, failure
		}}
		a, err := parseAddress("https://workers.example:8470", false)
		require.NoError(t, err)
		require.True(t, a.name)
		known := map[string]*endpoint{}
		at := func() (names []string) {
			synctest.Wait()
			for target := range known {
				names = append(names, target)
			}
			slices.Sort(names)
			return names
		}
		// The workers themselves are not asked: their endpoints are there already.
		for _, ip := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"} {
			known[ip+":8470"] = c.endpoint(a, ip+":8470")
		}
		gone := known["10.0.0.3:8470"]
		answer([]string{"10.0.0.2", "10.0.0.1"}, nil)
		done := make(chan struct{})
		go func() { defer close(done); c.follow(a, known, true) }()
		require.Equal(t, []string{"10.0.0.1:8470", "10.0.0.2:8470"}, at())
		require.Error(t, gone.ctx.Err())
		answer(nil, errors.New("no such host"))
		time.Sleep(15 * time.Second)
		require.Equal(t, []string{"10.0.0.1:8470", "10.0.0.2:8470"}, at())
		answer([]string{"10.0.0.1"}, nil)
		time.Sleep(15 * time.Second)
		require.Equal(t, []string{"10.0.0.1:8470"}, at())
		cancel()
		<-done
		require.Len(t, h.notes, 1, "that the name could not be looked up")
	})
}
