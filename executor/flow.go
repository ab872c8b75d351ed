package executor

import "fmt"

// control runs a node that has no kernel of the user's.
func (s *session) control(item *nodeItem, t tagged) {
	it := t.iter
	in := it.in[item.in : item.in+item.numIn]
	out := s.out[:item.outs]
	st := s.st

	switch item.kind {
	case kindEnter:
		// A dead Enter enters as well: its loop is dead, but it is there.
		v := in[0]
		in[0] = Value{}
		s.enter(item, it, v, t.dead)
		return
	case kindExit:
		if !t.dead {
			s.exit(item, it, in)
		}
		s.clearInputs(item, it)
		return
	case kindNextIteration:
		if !t.dead {
			v := in[0]
			in[0] = Value{}
			s.nextIteration(item, it, v)
		}
		s.clearInputs(item, it)
		return
	case kindOutput:
		if !t.dead {
			it.outs[item.arg], in[0] = in[0], Value{}
		}
		return
	}
	if t.dead {
		s.clearInputs(item, it)
		s.propagate(item, it, nil, true)
		return
	}

	switch item.kind {
	case kindConst:
		out[0] = st.x.prog.consts[item.arg]
		out[0].retain()
	case kindInput:
		out[0] = st.in[item.arg]
		out[0].retain()
	case kindIdentity:
		out[0], in[0] = in[0], Value{}
	case kindMerge:
		out[0], out[1] = in[0], in[1]
		in[0], in[1] = Value{}, Value{}
	case kindSwitch:
		port, err := choose(in[1].plain(), int(item.outs), item.flags&nodePass != 0)
		if err != nil {
			s.fail(it, item, err)
			return
		}
		out[port], in[0] = in[0], Value{}
		s.clearInputs(item, it)
	case kindLoopCond:
		pred := in[0].plain()
		if pred.kind() != scalarBool {
			s.fail(it, item, &TypeError{Want: "a bool as a loop's predicate", Got: pred.describe()})
			return
		}
		s.clearInputs(item, it)
		out[0] = pred
	case kindNoOp, kindTrigger:
	}
	s.propagate(item, it, out, false)
	for i := range out {
		if out[i].ref != nil {
			out[i].clear()
		}
	}
}

// choose returns the port that a switch's selector names.
func choose(selector Value, ports int, passThrough bool) (int, error) {
	n := int64(0)
	switch selector.kind() {
	case scalarInt:
		n = selector.Int()
	case scalarBool:
		if selector.Bool() {
			n = 1
		}
	default:
		return 0, &TypeError{Want: "an int or a bool as selector", Got: selector.describe()}
	}
	branches := int64(ports)
	if passThrough {
		branches--
		if n == -1 {
			return ports - 1, nil
		}
	}
	if n < 0 || n >= branches {
		return 0, fmt.Errorf("%w: it is %d, and there are %d", ErrSelector, n, branches)
	}
	return int(n), nil
}

// exit hands a value to the iteration that the frame was entered from.
func (s *session) exit(item *nodeItem, it *iteration, in []Value) {
	f := it.frame
	f.mu.Lock()
	again := f.exited[item.arg]
	f.exited[item.arg] = true
	f.mu.Unlock()
	if again {
		s.fail(it, item, ErrTwoValues)
		return
	}
	s.propagate(item, f.parent, in, false)
}
