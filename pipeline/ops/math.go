package ops

import (
	"github.com/planktonml/plankton/internal/arrays"
	"github.com/planktonml/plankton/pipeline"
)

// Mathematical functions of every element. They give float64 for float64 and float32 for every
// other type; angles are in radians. What is not defined is NaN or an infinity, as in C.

// Sqrt is the square root.
func Sqrt(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Sqrt, x) }

// Rsqrt is 1 / √x.
func Rsqrt(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Rsqrt, x) }

// Cbrt is the cube root.
func Cbrt(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Cbrt, x) }

// Exp is eˣ.
func Exp(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Exp, x) }

// Log is the natural logarithm.
func Log(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Log, x) }

// Log2 is the logarithm to base 2.
func Log2(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Log2, x) }

// Log10 is the logarithm to base 10.
func Log10(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Log10, x) }

// FAbs is x without its sign, in floating point.
func FAbs(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Fabs, x) }

// Floor is the largest integer that is not above x.
func Floor(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Floor, x) }

// Ceil is the smallest integer that is not below x.
func Ceil(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Ceil, x) }

// Sin is the sine.
func Sin(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Sin, x) }

// Cos is the cosine.
func Cos(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Cos, x) }

// Tan is the tangent.
func Tan(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Tan, x) }

// Asin is the arcsine.
func Asin(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Asin, x) }

// Acos is the arccosine.
func Acos(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Acos, x) }

// Atan is the arctangent.
func Atan(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Atan, x) }

// Sinh is the hyperbolic sine.
func Sinh(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Sinh, x) }

// Cosh is the hyperbolic cosine.
func Cosh(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Cosh, x) }

// Tanh is the hyperbolic tangent.
func Tanh(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Tanh, x) }

// Asinh is the inverse of Sinh.
func Asinh(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Asinh, x) }

// Acosh is the inverse of Cosh, from 1 on.
func Acosh(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Acosh, x) }

// Atanh is the inverse of Tanh, −1 … 1.
func Atanh(g *pipeline.Graph, x pipeline.Value) pipeline.Value { return compute(g, arrays.Atanh, x) }
