package executor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func named(name string) Key { return Key{From: "alice", Incarnation: 1, To: "bob", Name: name} }

func TestKeys(t *testing.T) {
	k := Key{From: "alice", Incarnation: 0xbeef, To: "bob", Name: "x", Frame: "outer@3/inner", Iteration: 7}
	require.Equal(t, "alice;000000000000beef;bob;x;outer@3/inner:7", k.String())
	back, err := ParseKey(k.String())
	require.NoError(t, err)
	require.Equal(t, k, back)
	back, err = ParseKey(named("y").String())
	require.NoError(t, err)
	require.Equal(t, named("y"), back)
	for _, wrong := range []string{
		"", "alice;bob", "alice;0000000000000001;bob;x", "alice;0000000000000001;bob;x;:0;", "alice;1;bob;x;:0",
		"alice;000000000000000g;bob;x;:0", ";0000000000000001;bob;x;:0", "alice;0000000000000001;bob;;:0",
		"alice;0000000000000001;bob;x;0", "alice;0000000000000001;bob;x;:one", "alice;0000000000000001;bob;x;:-1",
	} {
		_, err := ParseKey(wrong)
		require.ErrorContains(t, err, "expected from;incarnation;to;name;frame:iteration", wrong)
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add(named("x").String())
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseKey(s)
		if err != nil {
			return
		}
		again, err := ParseKey(k.String())
		if err != nil || again != k {
			t.Fatalf("%q: %+v, then %+v (%v)", s, k, again, err)
		}
	})
}

func TestRendezvous(t *testing.T) {
	ctx := t.Context()
	recv := func(r *Rendezvous, name string) (Value, bool, error) { return r.Recv(ctx, named(name)) }

	t.Run("send, receive", func(t *testing.T) {
		r := NewRendezvous()
		require.NoError(t, r.Send(named("x"), Int(1), false))
		require.NoError(t, r.Send(named("y"), Value{}, true))
		_, dead, err := recv(r, "y")
		require.NoError(t, err)
		require.True(t, dead)
		v, dead, err := recv(r, "x")
		require.NoError(t, err)
		require.False(t, dead)
		require.EqualValues(t, 1, v.Int())
		require.Empty(t, r.pending)
	})
	t.Run("receive, send", func(t *testing.T) {
		r := NewRendezvous()
		got := make(chan Value, 1)
		r.RecvAsync(ctx, named("x"), func(v Value, _ bool, _ error) { got <- v })
		require.NoError(t, r.Send(named("x"), Int(1), false))
		require.EqualValues(t, 1, (<-got).Int())
		require.Empty(t, r.pending)
	})
	t.Run("ping-pong", func(t *testing.T) {
		r := NewRendezvous()
		var other sync.WaitGroup
		other.Go(func() {
			for range 100 {
				v, _, _ := recv(r, "ping")
				r.Send(named("pong"), Int(v.Int()+1), false)
			}
		})
		v := Int(0)
		for range 100 {
			require.NoError(t, r.Send(named("ping"), v, false))
			v, _, _ = recv(r, "pong")
		}
		other.Wait()
		require.EqualValues(t, 100, v.Int())
	})
	t.Run("100 sends in order", func(t *testing.T) {
		r := NewRendezvous()
		for i := range int64(100) {
			require.NoError(t, r.Send(named("x"), Int(i), false))
		}
		for i := range int64(100) {
			v, _, err := recv(r, "x")
			require.NoError(t, err)
			require.Equal(t, i, v.Int())
		}
	})
	t.Run("four receivers, two cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := NewRendezvous()
			got := make(chan error, 4)
			var cancels []context.CancelCauseFunc
			for range 4 {
				ctx, cancel := context.WithCancelCause(t.Context())
				cancels = append(cancels, cancel)
				r.RecvAsync(ctx, named("x"), func(_ Value, _ bool, err error) { got <- err })
			}
			reason := errors.New("reason")
			cancels[0](reason)
			cancels[2](reason)
			synctest.Wait()
			require.NoError(t, r.Send(named("x"), Int(1), false))
			require.NoError(t, r.Send(named("x"), Int(2), false))
			var served int
			for range 4 {
				if err := <-got; err == nil {
					served++
				} else {
					require.Equal(t, reason, err)
				}
			}
			require.Equal(t, 2, served)
			require.Empty(t, r.pending)
			for _, c := range cancels { // after the receive: without effect
				c(nil)
			}
		})
	})
	t.Run("cancelled before", func(t *testing.T) {
		r := NewRendezvous()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err := r.Recv(ctx, named("x"))
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, r.pending)
		require.NoError(t, r.Send(named("x"), Int(1), false))
		v, _, err := recv(r, "x")
		require.NoError(t, err)
		require.EqualValues(t, 1, v.Int())
	})
	t.Run("served before it could be withdrawn", func(t *testing.T) {
		r := NewRendezvous()
		require.False(t, r.withdraw(named("x"), new(receive)))
		got := make(chan Value, 1)
		r.RecvAsync(ctx, named("x"), func(v Value, _ bool, _ error) { got <- v })
		require.False(t, r.withdraw(named("x"), new(receive)), "that one waits for the next value")
		require.NoError(t, r.Send(named("x"), Int(1), false))
		require.EqualValues(t, 1, (<-got).Int())
	})
	t.Run("random pairs", func(t *testing.T) {
		r := NewRendezvous()
		var all sync.WaitGroup
		for i := range int64(100) {
			key := named(fmt.Sprint(i))
			all.Go(func() {
				time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
				r.Send(key, Int(i), false)
			})
			all.Go(func() {
				time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
				if v, _, err := r.Recv(ctx, key); err != nil || v.Int() != i {
					t.Errorf("%v: %v, %v", key, v, err)
				}
			})
		}
		all.Wait()
	})
	t.Run("abort", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			mem := new(countingAllocator)
			r := NewRendezvous()
			b, err := NewBuffer(mem, 1, OnHost)
			require.NoError(t, err)
			require.NoError(t, r.Send(named("nobody receives it"), Ref(b), false))
			reason := errors.New("reason")
			time.AfterFunc(time.Second, func() { r.Abort(reason) })
			_, _, err = r.Recv(t.Context(), named("x"))
			require.Equal(t, reason, err)
			r.Abort(nil)
			require.Equal(t, reason, r.Send(named("x"), Int(1), false))
			_, _, err = r.Recv(t.Context(), named("x"))
			require.Equal(t, reason, err)
			require.Zero(t, mem.live.Load())
		})
	})
}

// Per key the values come in the order in which they were sent, dead flags
// included, whatever the order of calls.
func TestRendezvousModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := NewRendezvous()
		var sent, received, asked [2]int64
		bad := false
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			k := rapid.IntRange(0, 1).Draw(t, "key")
			key := named(fmt.Sprint(k))
			if rapid.Bool().Draw(t, "send") {
				n := sent[k]
				sent[k]++
				require.NoError(t, r.Send(key, Int(n), n%3 == 0))
				continue
			}
			want := asked[k]
			asked[k]++
			r.RecvAsync(context.Background(), key, func(v Value, dead bool, err error) {
				bad = bad || err != nil || v.Int() != want || dead != (want%3 == 0)
				received[k]++
			})
		}
		require.False(t, bad)
		for k := range sent {
			require.Equal(t, min(sent[k], asked[k]), received[k])
		}
	})
}

// alice talks to a program, bob, through the rendezvous of the run.
var (
	alice = Peer{Name: "alice", Incarnation: 1}
	bob   = Options{Name: "bob"}
)

func toBob(name string) Key { return Key{From: "alice", Incarnation: 1, To: "bob", Name: name} }

func fromBob(name string) Key { return Key{From: "bob", Incarnation: 1, To: "alice", Name: name} }

func TestTransfers(t *testing.T) {
	t.Run("add", func(t *testing.T) {
		g := NewGraph()
		g.Send("c", "c", alice, g.add2(g.Recv("a", "a", alice), g.Recv("b", "b", alice)))
		x := newExecutor(t, g, bob)
		for range 2 {
			r := NewRendezvous()
			require.NoError(t, r.Send(toBob("a"), Int(1), false))
			require.NoError(t, r.Send(toBob("b"), Int(1), false))
			require.NoError(t, x.Run(t.Context(), Args{Rendezvous: r}))
			v, dead, err := r.Recv(t.Context(), fromBob("c"))
			require.NoError(t, err)
			require.False(t, dead)
			require.EqualValues(t, 2, v.Int())
		}
	})
	t.Run("switch", func(t *testing.T) {
		for _, pred := range []bool{false, true} {
			g := NewGraph()
			no, _ := g.Switch("switch", g.Recv("a", "a", alice), g.Const("pred", Bool(pred)))
			g.Send("c", "c", alice, no)
			r := NewRendezvous()
			require.NoError(t, r.Send(toBob("a"), Int(1), false))
			require.NoError(t, newExecutor(t, g, bob).Run(t.Context(), Args{Rendezvous: r}))
			_, dead, err := r.Recv(t.Context(), fromBob("c"))
			require.NoError(t, err)
			require.Equal(t, pred, dead)
		}
	})
	t.Run("dead value received", func(t *testing.T) {
		g := NewGraph()
		a := g.Recv("a", "a", alice)
		g.Output("v", g.Merge("merge", g.plus(a, 1), g.num(7)).Out(0))
		r := NewRendezvous()
		require.NoError(t, r.Send(toBob("a"), Value{}, true))
		out := make([]Value, 1)
		require.NoError(t, newExecutor(t, g, bob).Run(t.Context(), Args{Rendezvous: r, Out: out}))
		require.EqualValues(t, 7, out[0].Int())
	})
	t.Run("dead value with a buffer", func(t *testing.T) {
		mem := new(countingAllocator)
		b, err := NewBuffer(mem, 1, OnHost)
		require.NoError(t, err)
		g := NewGraph()
		g.plus(g.Recv("a", "a", alice), 1)
		r := NewRendezvous()
		require.NoError(t, r.Send(toBob("a"), Ref(b), true))
		require.NoError(t, newExecutor(t, g, bob).Run(t.Context(), Args{Rendezvous: r}))
		require.Zero(t, mem.live.Load(), "the reference that was sent is given back")
	})
	t.Run("abort", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := NewGraph()
			sum := g.add2(g.add2(g.Recv("a", "a", alice), g.Recv("b", "b", alice)), g.add2(g.Recv("c", "c", alice), g.Recv("d", "d", alice)))
			g.Send("e", "e", alice, sum)
			x := newExecutor(t, g, bob)
			r := NewRendezvous()
			time.AfterFunc(100*time.Millisecond, func() {
				for _, name := range []string{"a", "b", "c"} {
					r.Send(toBob(name), Int(1), false)
				}
				r.Abort(nil)
			})
			require.ErrorIs(t, x.Run(t.Context(), Args{Rendezvous: r}), ErrAborted)
			_, _, err := r.Recv(t.Context(), fromBob("e"))
			require.ErrorIs(t, err, ErrAborted)
			require.NoError(t, x.Close())
		})
	})
	t.Run("a failure reaches the peer", func(t *testing.T) {
		boom := errors.New("boom")
		g := NewGraph()
		v := g.Add("bad", Op{Outputs: 1, Run: func(context.Context, *Call) error { return boom }}, g.Recv("a", "a", alice))
		g.Send("c", "c", alice, v.Out(0))
		r := NewRendezvous()
		require.NoError(t, r.Send(toBob("a"), Int(1), false))
		require.ErrorIs(t, newExecutor(t, g, bob).Run(t.Context(), Args{Rendezvous: r}), boom)
		_, _, err := r.Recv(t.Context(), fromBob("c"))
		require.ErrorIs(t, err, boom)
	})
	t.Run("in a loop, between two programs", func(t *testing.T) {
		// Both count to 20; in every iteration one sends its count, which the
		// other adds up.
		left, right := NewGraph(), NewGraph()
		out := left.While(LoopSpec{Name: "loop"}, []Output{left.num(0)}, left.upTo(0, 20), func(v []Output) []Output {
			left.Send("send", "i", Peer{Name: "bob", Incarnation: 1}, v[0])
			return []Output{left.plus(v[0], 1)}
		})
		left.Output("n", out[0])
		out = right.While(LoopSpec{Name: "loop"}, []Output{right.num(0), right.num(0)}, right.upTo(0, 20), func(v []Output) []Output {
			return []Output{right.plus(v[0], 1), right.add2(v[1], right.Recv("recv", "i", alice))}
		})
		right.Output("sum", out[1])
		l, r := newExecutor(t, left, Options{Name: "alice"}), newExecutor(t, right, bob)
		meet := NewRendezvous()
		done := make(chan error, 1)
		sum := make([]Value, 1)
		r.RunAsync(t.Context(), Args{Rendezvous: meet, Out: sum}, func(err error) { done <- err })
		require.NoError(t, l.Run(t.Context(), Args{Rendezvous: meet}))
		require.NoError(t, <-done)
		require.EqualValues(t, 190, sum[0].Int())
	})
	t.Run("in a loop, in every batch", func(t *testing.T) {
		g := NewGraph()
		root := g.Add("root", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error { c.Set(0, Int(10*c.Root())); return nil }})
		g.While(LoopSpec{Name: "loop"}, []Output{g.num(0)}, g.upTo(0, 2), func(v []Output) []Output {
			g.Send("send", "x", alice, g.add2(v[0], root.Out(0)))
			return []Output{g.plus(v[0], 1)}
		})
		p, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		x, err := New(p, bob)
		require.NoError(t, err)
		r := NewRendezvous()
		l, err := x.Loop(t.Context(), LoopOptions{Slots: 2, Rendezvous: r})
		require.NoError(t, err)
		key := fromBob("x")
		for batch, frame := range []string{"loop", "@1/loop"} {
			key.Frame = frame
			for key.Iteration = range 2 {
				v, _, err := r.Recv(t.Context(), key)
				require.NoError(t, err)
				require.Equal(t, int64(10*batch)+key.Iteration, v.Int())
			}
		}
		l.Close()
		require.NoError(t, x.Close())
	})
	t.Run("behind a limiter", func(t *testing.T) {
		// A Recv that waits for a Send of its own program does not keep the one
		// operator from running that the Send waits for.
		g := NewGraph()
		g.Output("v", g.Recv("recv", "x", Peer{Name: "bob"}))
		g.Send("send", "x", Peer{Name: "bob"}, g.plus(g.num(1), 1))
		x := newExecutor(t, g, Options{Name: "bob", Workers: 1, Concurrency: ConcurrencyNone})
		out := make([]Value, 1)
		require.NoError(t, x.Run(t.Context(), Args{Out: out}))
		require.EqualValues(t, 2, out[0].Int())
	})
}
