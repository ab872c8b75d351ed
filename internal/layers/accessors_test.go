package layers

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/dali"
	"github.com/planktonml/plankton/pipeline/readers"
)

// TestAccessorsRefuseUnknownNames calls every exported method that takes a name or a number
// of something that its receiver has, also those that will be added, with one that is not
// there. It must panic and say what was asked for and what there is; methods that return
// an error for other reasons return it.
func TestAccessorsRefuseUnknownNames(t *testing.T) {
	define := func(g *pipeline.Graph) {
		g.Output("numbers", readers.Slices(g, readers.SlicesOptions{Name: "train"}, readers.Rows([]float32{1, 2, 3, 4}))[0])
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, define)
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	g := executor.NewGraph()
	g.Output("sum", g.Const("one", executor.Float(1)))
	program, err := executor.Compile(g, executor.CompileOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, program.Close()) }()

	for b, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		for has, of := range map[string][]any{
			`"numbers"`: {p, b, b.Batch},
			`"train"`:   {dali.New(p)},
			`"one"`:     {program},
		} {
			for _, x := range of {
				refuseNames(t, x, has)
			}
		}
		require.PanicsWithValue(t, "iterator: there is no pipeline 1; the loader has 1, counted from 0", func() { b.Part(1) })
		require.PanicsWithValue(t, `pipeline: there is no row 2 of output "numbers"; the batch has 2 rows, counted from 0`, func() { b.Sample("numbers", 2) })
	}
	_, err = p.Engine().Orders(1)
	require.ErrorContains(t, err, "there is no reader 1 to drive; the pipeline has 1, counted from 0")
}

// refuseNames calls the methods of x that take a name first.
func refuseNames(t *testing.T, x any, has string) {
	t.Helper()
	v, called := reflect.ValueOf(x), 0
	for i := range v.NumMethod() {
		m := v.Method(i)
		if m.Type().NumIn() == 0 || m.Type().In(0).Kind() != reflect.String {
			continue
		}
		called++
		in := []reflect.Value{reflect.ValueOf("nothing")}
		for k := 1; k < m.Type().NumIn(); k++ {
			in = append(in, reflect.Zero(m.Type().In(k)))
		}
		name, said := fmt.Sprintf("%T.%s", x, v.Type().Method(i).Name), ""
		func() {
			defer func() { said = fmt.Sprint(said, recover()) }()
			out := m.Call(in)
			fails := reflect.TypeFor[error]()
			if k := slices.IndexFunc(out, func(o reflect.Value) bool { return o.Type() == fails && !o.IsNil() }); k >= 0 {
				said = out[k].Interface().(error).Error()
			}
		}()
		require.Contains(t, said, `there is no `, name)
		require.Contains(t, said, `"nothing"`, name)
		require.Contains(t, said, has, name)
	}
	require.Positive(t, called, "%T has no such method", x)
}
