package main

import (
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

const hidden = 64 // units that remember what was read

// newModel returns the weights of a recurrent network, the same ones in every run: of a byte,
// of what was remembered, and of what comes next, with their biases.
func newModel(g *gorgonia.ExprGraph, letters int) gorgonia.Nodes {
	random := rand.New(rand.NewPCG(1, 2))
	matrix := func(name string, rows, cols int, scale float32) *gorgonia.Node {
		weights := make([]float32, rows*cols)
		for i := range weights {
			weights[i] = scale * (2*random.Float32() - 1)
		}
		return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(rows, cols), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(weights))))
	}
	return gorgonia.Nodes{
		matrix("byte", letters, hidden, 0.3), matrix("memory", hidden, hidden, 0.15), matrix("bias", 1, hidden, 0),
		matrix("out", hidden, letters, 0.15), matrix("outBias", 1, letters, 0),
	}
}

// loss returns the mean cross-entropy, in nats, of the bytes that have a next one in the rows that
// have a weight. What a graph gets wrong here is a mistake in the program, so it panics.
func loss(bytes, next, weights *gorgonia.Node, model gorgonia.Nodes) *gorgonia.Node {
	bytes, next = steps(bytes), steps(next)
	var memory, sum, count *gorgonia.Node
	for step := range length {
		x := gorgonia.Must(gorgonia.Mul(at(bytes, step), model[0]))
		if memory != nil {
			x = gorgonia.Must(gorgonia.Add(x, gorgonia.Must(gorgonia.Mul(memory, model[1]))))
		}
		memory = gorgonia.Must(gorgonia.Tanh(add(x, model[2])))
		logits := add(gorgonia.Must(gorgonia.Mul(memory, model[3])), model[4])
		logp := gorgonia.Must(gorgonia.Log(gorgonia.Must(gorgonia.SoftMax(logits, 1))))
		y := at(next, step)
		sum = plus(sum, gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(logp, y)), 1)))
		count = plus(count, gorgonia.Must(gorgonia.Sum(y, 1)))
	}
	of := func(rows *gorgonia.Node) *gorgonia.Node {
		return gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(rows, weights))))
	}
	return gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.HadamardDiv(of(sum), of(count)))))
}

// steps puts the rows of one step behind each other: (length·batch)×letters.
func steps(x *gorgonia.Node) *gorgonia.Node {
	x = gorgonia.Must(gorgonia.Transpose(x, 1, 0, 2))
	return gorgonia.Must(gorgonia.Reshape(x, tensor.Shape{length * batch, x.Shape()[2]}))
}

// at returns the rows of a step.
func at(x *gorgonia.Node, step int) *gorgonia.Node {
	return gorgonia.Must(gorgonia.Slice(x, gorgonia.S(step*batch, (step+1)*batch)))
}

func add(x, bias *gorgonia.Node) *gorgonia.Node {
	return gorgonia.Must(gorgonia.BroadcastAdd(x, bias, nil, []byte{0}))
}

// plus adds to a sum, which is nil at first.
func plus(sum, x *gorgonia.Node) *gorgonia.Node {
	if sum == nil {
		return x
	}
	return gorgonia.Must(gorgonia.Add(sum, x))
}
