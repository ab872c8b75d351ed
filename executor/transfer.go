package executor

import (
	"context"
	"fmt"
)

// Peer is the other end of a transfer.
type Peer struct {
	Name        string  // of the executor there (Options.Name)
	Incarnation uint64  // of the sender; both ends give the same
	Backend     Backend // where the value is at the other end
	Remote      bool    // the peer is in another address space
}

// Send adds a node that hands o to a Recv of the same key in another program, through the
// rendezvous of the run. The node runs even if o is dead, and tells the receiver so. key is
// one name for the value, the same at both ends.
func (g *Graph) Send(name, key string, to Peer, o Output, after ...*Node) *Node {
	n := g.add(kindSend, name, 0, []Output{o}, after)
	n.peer = &to
	n.op.Run = func(_ context.Context, c *Call) error {
		k := c.key(c.st.x.opts.Name, to.Name, to.Incarnation, key)
		v := c.In(0)
		v.retain()
		return c.st.life.rendezvous.Send(k, v, c.dead || v.IsEmpty())
	}
	return n
}

// Recv adds a node that yields what a Send of the same key hands over. Where a dead value was
// sent, the output is dead. The node runs even if a node in after is dead, since the sender
// sends something in any case.
func (g *Graph) Recv(name, key string, from Peer, after ...*Node) Output {
	n := g.add(kindRecv, name, 1, nil, after)
	n.peer = &from
	n.op.Run = func(ctx context.Context, c *Call) error {
		k := c.key(from.Name, c.st.x.opts.Name, from.Incarnation, key)
		c.st.life.rendezvous.RecvAsync(ctx, k, func(v Value, dead bool, err error) {
			if dead {
				v.clear()
			}
			c.Set(0, v)
			c.Done(err)
		})
		return nil
	}
	return n.Out(0)
}

// key names a value of this call. The batch of a loop that is further inside
// is part of the frame.
func (c *Call) key(from, to string, incarnation uint64, name string) Key {
	k := Key{From: from, Incarnation: incarnation, To: to, Name: name, Frame: c.Frame(), Iteration: c.Iteration()}
	if k.Frame != "" && c.Root() != 0 {
		k.Frame = fmt.Sprintf("@%d/%s", c.Root(), k.Frame)
	}
	return k
}
