package remote

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"net"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/rows"
)

// socketPair returns both ends of a connection: what dials, as it is, and what a worker has taken.
func socketPair(t *testing.T) (net.Conn, *takeConn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer l.Close()
	raw, err := net.Dial("unix", l.Addr().String())
	require.NoError(t, err)
	c, err := taking(l).Accept()
	require.NoError(t, err)
	t.Cleanup(func() {
		raw.Close()
		c.Close()
	})
	return raw, c.(*takeConn)
}

// What a worker writes into the memory of a connection, the training program reads; it is gone when
// the connection and all who use it are.
func TestConnectionBringsMemory(t *testing.T) {
	raw, worker := socketPair(t)
	c := offering(raw, raw).(*offerConn)
	require.True(t, worker.memory() == nil, "nothing has come")
	_, err := c.Write([]byte("hello"))
	require.NoError(t, err)
	text := make([]byte, 5)
	_, err = io.ReadFull(worker, text)
	require.NoError(t, err)
	require.Equal(t, "hello", string(text))
	theirs, ours := worker.memory(), c.memory()
	require.Len(t, theirs.b, sharedSize)
	theirs.b[sharedSize-1] = 7
	require.EqualValues(t, 7, ours.b[sharedSize-1])
	require.NoError(t, worker.Close())
	require.NoError(t, c.Close())
	_ = c.Close() // http closes some twice
	require.True(t, worker.memory() == nil)
	theirs.b[0] = 8 // as long as somebody uses the memory, it is there
	require.EqualValues(t, 8, ours.b[0])
	theirs.release()
	ours.release()
	require.Zero(t, theirs.users+ours.users)
	require.True(t, c.memory() == nil)
}

// A connection that is closed before it was written to keeps no file open.
func TestMemoryThatNobodyTakes(t *testing.T) {
	raw, _ := socketPair(t)
	c := offering(raw, raw).(*offerConn)
	require.NoError(t, c.Close())
	require.Nil(t, c.file)
	require.Zero(t, c.m.users)
	raw, worker := socketPair(t)
	c = offering(raw, raw).(*offerConn)
	_, err := c.Write([]byte("x"))
	require.NoError(t, err)
	_, err = worker.Read(make([]byte, 8))
	require.NoError(t, err)
	fd := worker.fd
	require.NoError(t, worker.Close())
	_, err = unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	require.Error(t, err)
	require.NoError(t, c.Close())
}

// A worker maps only a file that stays as long as it is, and only one.
func TestStrangersMemory(t *testing.T) {
	memory := func(size int64, seals int, flags ...int) *os.File {
		fd, err := unix.MemfdCreate("stranger", append(flags, unix.MFD_ALLOW_SEALING)[0]|unix.MFD_ALLOW_SEALING)
		if err != nil && len(flags) > 0 {
			return nil // this system has no such memory
		}
		require.NoError(t, err)
		f := os.NewFile(uintptr(fd), "stranger")
		require.NoError(t, f.Truncate(size))
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		require.NoError(t, err)
		return f
	}
	onDisk, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	require.NoError(t, onDisk.Truncate(sharedSize))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	for _, x := range []struct {
		name string
		f    *os.File
		size int // that is mapped
	}{
		{"on a disk", onDisk, 0},
		{"a pipe", r, 0},
		{"may be made shorter", memory(sharedSize, unix.F_SEAL_GROW), 0},
		{"cannot be written", memory(sharedSize, sealed|unix.F_SEAL_WRITE), 0},
		{"empty", memory(0, sealed), 0},
		{"small", memory(5000, sealed), 5000},
		{"of huge pages", memory(sharedSize, sealed, unix.MFD_HUGETLB), 0},
		{"large", memory(1<<40, sealed), sharedSize},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.f == nil {
				t.Skip("this system has no such memory")
			}
			raw, worker := socketPair(t)
			fd := int(x.f.Fd())
			_, _, err := raw.(*net.UnixConn).WriteMsgUnix([]byte("x"), unix.UnixRights(fd, fd, fd), nil)
			require.NoError(t, err)
			require.NoError(t, x.f.Close())
			_, err = worker.Read(make([]byte, 8))
			require.NoError(t, err)
			m := worker.memory()
			if x.size == 0 {
				require.True(t, m == nil)
				return
			}
			require.Len(t, m.b, x.size)
			m.release()
		})
	}
}

// lent returns memory as a maker has it.
func lent(b []byte) *shared {
	m := &shared{b: b, users: 2, end: func() {}}
	m.turn.Lock()
	return m
}

// Large values of a row go through the memory while there is room, small ones and the rest do not; what
// comes is the same.
func TestAnswerThroughMemory(t *testing.T) {
	x := tensor(t, datum.Spec{DType: datum.Uint8, Shape: []int{leastShared + 1}}, []int{leastShared + 1}, 1, 2, 3)
	y := tensor(t, datum.Spec{DType: datum.Int16}, nil, 5, 0)
	m := &shared{b: make([]byte, 3*(leastShared+sharedAlign)-1)}
	answer := func(p *places) []byte {
		b := appendAnswerHead(nil, 2, 4)
		for range 4 {
			var err error
			b, err = appendRow(b, []*datum.Tensor{x, y}, p)
			require.NoError(t, err)
		}
		return b
	}
	inline, b := answer(nil), answer(&places{m: m})
	require.Less(t, len(b), len(inline)-leastShared)
	require.Greater(t, len(b), leastShared, "two rows have no room")
	q := &rows.Request{Keys: make([]rows.Key, 4)}
	for unwanted := -1; unwanted < 4; unwanted++ {
		want, got := &keeper{unwanted: unwanted}, &keeper{unwanted: unwanted}
		require.NoError(t, (&answerReader{body: bytes.NewReader(inline)}).read(q, 2, want))
		require.NoError(t, (&answerReader{body: bytes.NewReader(b), memory: lent(m.b)}).read(q, 2, got))
		require.Equal(t, want.text, got.text)
	}
	require.ErrorContains(t, (&answerReader{body: bytes.NewReader(b)}).read(q, 2, &keeper{unwanted: -1}), "memory")
}

// Places outside of the memory are refused.
func TestPlacesOutside(t *testing.T) {
	m := lent(make([]byte, 100))
	for _, x := range []struct {
		offset uint64
		n      int
		fits   bool
	}{{0, 100, true}, {100, 0, true}, {99, 1, true}, {0, 101, false}, {100, 1, false}, {math.MaxUint64, 1, false}, {math.MaxUint64 - 9, 20, false}, {1, MaxValue, false}} {
		got, ok := m.part(x.offset, x.n)
		require.Equal(t, x.fits, ok, x)
		require.True(t, !ok || len(got) == x.n)
		b := append(appendAnswerHead(nil, 1, 1), made, byte(datum.Uint8), 1, 0, inMemory)
		b = binary.LittleEndian.AppendUint32(b, uint32(x.n))
		b = binary.LittleEndian.AppendUint64(b, x.offset)
		err := (&answerReader{body: bytes.NewReader(b), memory: lent(m.b)}).read(&rows.Request{Keys: make([]rows.Key, 1)}, 1, &keeper{unwanted: -1})
		require.Equal(t, x.fits, err == nil, "%v: %v", x, err)
	}
}

// The maker has the memory of the connection that its request goes over last.
func TestMakerForgetsMemory(t *testing.T) {
	m := &maker{}
	defer m.read.forgetMemory()
	got := httptrace.ContextClientTrace(m.seeMemory(t.Context())).GotConn
	var conns []*offerConn
	for range 2 {
		raw, _ := socketPair(t)
		c := offering(raw, raw).(*offerConn)
		conns = append(conns, c)
		got(httptrace.GotConnInfo{Conn: c})
		require.True(t, c.m == m.read.memory)
	}
	require.Equal(t, 1, conns[0].m.users)
	require.Equal(t, 2, conns[1].m.users)
	require.True(t, conns[0].m.turn.TryLock())
	require.False(t, conns[1].m.turn.TryLock(), "another maker waits until this one has read all")
	raw, _ := socketPair(t)
	got(httptrace.GotConnInfo{Conn: raw})
	require.True(t, m.read.memory == nil)
	for _, c := range conns {
		require.NoError(t, c.Close())
		require.Zero(t, c.m.users)
	}
}
