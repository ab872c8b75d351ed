package parquet

import (
	"errors"
	"fmt"
	"strings"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline/datum"
)

// leaf is a column of a file as it is stored: values, of which lists have several in a
// row (Melnik et al., "Dremel", VLDB 2010, on levels).
type leaf struct {
	name  string // with dots, and without the wrappers that lists and maps have
	index int    // among the leaves of the file
	typ   pq.Type

	dtype  datum.DType // of an element; of byte arrays Uint8
	size   int         // bytes of a value in a page, 0 for byte arrays
	text   bool        // the bytes are UTF-8
	narrow bool        // a page has four bytes for what is an element of one or two

	maxRep, maxDef int
	lists          []int // of every repetition level, from 1: the definition level of an element of that list
	wrong          error // why it cannot be read
}

// node is a part of the schema.
type node struct {
	*format.SchemaElement
	children []*node
	first    int // leaf below it
}

// schemaOf returns the leaves of a file, and the tree of its columns.
func schemaOf(meta *format.FileMetaData) (root *node, leaves []*leaf, err error) {
	elements := meta.Schema
	next, index := 0, 0
	var read func(depth int) (*node, error)
	read = func(depth int) (*node, error) {
		if next == len(elements) || depth > maxDepth {
			return nil, errors.New("the schema is damaged")
		}
		n := &node{SchemaElement: &elements[next], first: index}
		next++
		if !n.NumChildren.Valid || n.NumChildren.V == 0 && n.Type.Valid {
			index++
			return n, nil
		}
		for range n.NumChildren.V {
			child, err := read(depth + 1)
			if err != nil {
				return nil, err
			}
			n.children = append(n.children, child)
		}
		return n, nil
	}
	if root, err = read(0); err != nil {
		return nil, nil, err
	}
	for _, c := range root.children {
		leaves = appendLeaves(leaves, c, "", nil, 0)
	}
	return root, leaves, nil
}

// maxDepth bounds how deep a schema goes.
const maxDepth = 100

// appendLeaves appends the leaves of a node. Lists are the definition levels of the
// repeated nodes above it, def its definition level so far.
func appendLeaves(leaves []*leaf, n *node, prefix string, lists []int, def int) []*leaf {
	switch n.RepetitionType.V {
	case format.Optional:
		def++
	case format.Repeated:
		def++
		lists = append(lists[:len(lists):len(lists)], def)
	}
	name := prefix + n.Name
	if n.children == nil {
		l := &leaf{name: name, index: n.first, maxRep: len(lists), maxDef: def, lists: lists}
		l.setType(n.SchemaElement)
		return append(leaves, l)
	}
	if inner := n.wrapped(); inner != nil {
		// A list is a group of one repeated group of one element, a map one of two. Their names
		// are the format's.
		def++
		lists = append(lists[:len(lists):len(lists)], def)
		if inner.children == nil { // of old writers: the repeated node is the element
			inner = &node{SchemaElement: inner.SchemaElement, first: inner.first}
			l := &leaf{name: name, index: inner.first, maxRep: len(lists), maxDef: def, lists: lists}
			l.setType(inner.SchemaElement)
			return append(leaves, l)
		}
		if len(inner.children) == 1 {
			return appendNamed(leaves, inner.children[0], name, lists, def)
		}
		for _, c := range inner.children {
			leaves = appendLeaves(leaves, c, name+".", lists, def)
		}
		return leaves
	}
	for _, c := range n.children {
		leaves = appendLeaves(leaves, c, name+".", lists, def)
	}
	return leaves
}

// appendNamed is appendLeaves for a node that goes by another name.
func appendNamed(leaves []*leaf, n *node, name string, lists []int, def int) []*leaf {
	element := *n.SchemaElement
	element.Name = name
	return appendLeaves(leaves, &node{SchemaElement: &element, children: n.children, first: n.first}, "", lists, def)
}

// wrapped returns the repeated node of a list or map, nil for other groups.
func (n *node) wrapped() *node {
	if len(n.children) != 1 || n.children[0].RepetitionType.V != format.Repeated {
		return nil
	}
	switch n.LogicalType.Value.(type) {
	case *format.ListType, *format.MapType:
		return n.children[0]
	}
	if c := n.ConvertedType; c.Valid && (c.V == deprecated.List || c.V == deprecated.Map || c.V == deprecated.MapKeyValue) {
		return n.children[0]
	}
	return nil
}

// setType sets what an element of the leaf is.
func (l *leaf) setType(e *format.SchemaElement) {
	defer func() {
		if v := recover(); v != nil { // the library panics at types that contradict themselves
			l.wrong = fmt.Errorf("its type is damaged: %v", v)
		}
	}()
	kind := pq.Kind(e.Type.V)
	switch kind {
	case pq.Boolean:
		l.typ, l.dtype, l.size = pq.BooleanType, datum.Bool, 1
	case pq.Int32:
		l.typ, l.dtype, l.size = pq.Int32Type, datum.Int32, 4
		l.setWhole(e)
	case pq.Int64:
		l.typ, l.dtype, l.size = pq.Int64Type, datum.Int64, 8
		l.setWhole(e)
	case pq.Float:
		l.typ, l.dtype, l.size = pq.FloatType, datum.Float32, 4
	case pq.Double:
		l.typ, l.dtype, l.size = pq.DoubleType, datum.Float64, 8
	case pq.ByteArray:
		l.typ, l.dtype = pq.ByteArrayType, datum.Uint8
		_, isText := e.LogicalType.Value.(*format.StringType)
		l.text = isText || e.ConvertedType.Valid && e.ConvertedType.V == deprecated.UTF8
	case pq.FixedLenByteArray:
		if n := e.TypeLength.V; n < 1 || n > 1<<20 {
			l.wrong = fmt.Errorf("its values have %d bytes", n)
			return
		}
		l.typ, l.dtype, l.size = pq.FixedLenByteArrayType(int(e.TypeLength.V)), datum.Uint8, int(e.TypeLength.V)
		if _, half := e.LogicalType.Value.(*format.Float16Type); half && l.size == 2 {
			l.dtype = datum.Float16
		}
	default:
		l.wrong = errors.New("it has timestamps of 96 bits, which are deprecated; write it as int64")
	}
	_, decimal := e.LogicalType.Value.(*format.DecimalType)
	if decimal || e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Decimal {
		l.wrong = errors.New("it has decimal numbers; write them as float64, or as whole numbers")
	}
	if l.size == 0 && l.maxRep > 0 {
		l.wrong = errors.New("it has lists of bytes or texts, which are no array; choose another column, or write one row for each")
	}
	if l.dtype == datum.Uint8 && l.size > 0 && !l.narrow && l.maxRep > 0 {
		l.wrong = errors.New("it has lists of pieces of bytes, which are no array; choose another column")
	}
	if l.maxRep > datum.MaxDims {
		l.wrong = fmt.Errorf("it has lists within lists, %d deep; an output has at most %d dimensions", l.maxRep, datum.MaxDims)
	}
}

// setWhole sets the type of whole numbers that have other widths or no signs.
func (l *leaf) setWhole(e *format.SchemaElement) {
	bits, signed := 8*l.size, true
	if t, ok := e.LogicalType.Value.(*format.IntType); ok {
		bits, signed = int(t.BitWidth), t.IsSigned
	} else if e.ConvertedType.Valid {
		switch e.ConvertedType.V {
		case deprecated.Uint8:
			bits, signed = 8, false
		case deprecated.Uint16:
			bits, signed = 16, false
		case deprecated.Uint32:
			bits, signed = 32, false
		case deprecated.Uint64:
			bits, signed = 64, false
		case deprecated.Int8:
			bits = 8
		case deprecated.Int16:
			bits = 16
		}
	}
	types := map[int][2]datum.DType{
		8: {datum.Uint8, datum.Int8}, 16: {datum.Uint16, datum.Int16}, 32: {datum.Uint32, datum.Int32}, 64: {datum.Uint64, datum.Int64},
	}
	t, ok := types[bits]
	if !ok || bits > 8*l.size {
		l.wrong = fmt.Errorf("its whole numbers have %d bits in values of %d", bits, 8*l.size)
		return
	}
	l.dtype, l.narrow = t[0], bits < 8*l.size
	if signed {
		l.dtype = t[1]
	}
}

// flat reports whether a row has one value.
func (l *leaf) flat() bool { return l.maxRep == 0 }

// bytes reports whether values are byte arrays of any length.
func (l *leaf) bytes() bool { return l.size == 0 }

// whole reports whether a row is one whole number.
func (l *leaf) whole() bool {
	switch l.dtype {
	case datum.Float16, datum.Float32, datum.Float64:
		return false
	}
	return l.flat() && l.wrong == nil && !l.bytes() && (l.dtype != datum.Uint8 || l.narrow)
}

// pieces reports whether values are byte arrays of one length.
func (l *leaf) pieces() bool { return l.dtype == datum.Uint8 && l.size > 0 && !l.narrow }

// spec is what a row is, where no shape is given.
func (l *leaf) spec() datum.Spec {
	s := datum.Spec{DType: l.dtype}
	switch {
	case l.bytes():
		s.Shape = []int{-1}
	case l.pieces():
		s.Shape = []int{l.size}
	}
	for range l.maxRep {
		s.Shape = append(s.Shape, -1)
	}
	return s
}

// describe names a leaf and what it is, as in "label (int64 scalar)".
func (l *leaf) describe() string { return fmt.Sprintf("%s (%s)", printable.Name(l.name), l.spec()) }

// listed names leaves for a message.
func listed(leaves []*leaf) string {
	const most = 12
	var words []string
	for _, l := range leaves[:min(len(leaves), most)] {
		words = append(words, l.describe())
	}
	if n := len(leaves) - most; n > 0 {
		words = append(words, fmt.Sprintf("%d more", n))
	}
	return strings.Join(words, ", ")
}

// find returns the leaf of a name: a column, or of a struct of bytes and path, as Hugging
// Face's pictures are, its bytes.
func find(leaves []*leaf, name string) (*leaf, error) {
	var bytes, path *leaf
	var inside []*leaf
	for _, l := range leaves {
		switch {
		case l.name == name:
			return l, l.readable()
		case l.name == name+".bytes":
			bytes = l
		case l.name == name+".path":
			path = l
		}
		if strings.HasPrefix(l.name, name+".") {
			inside = append(inside, l)
		}
	}
	switch {
	case bytes != nil && path != nil:
		return bytes, bytes.readable()
	case inside != nil:
		return nil, fmt.Errorf("column %s is a struct; name one of its parts: %s", printable.Name(name), listed(inside))
	}
	return nil, fmt.Errorf("there is no column %s; there are %s", printable.Name(name), listed(leaves))
}

// readable returns why a leaf cannot be read.
func (l *leaf) readable() error {
	if l.wrong != nil {
		return fmt.Errorf("column %s cannot be read: %w", printable.Name(l.name), l.wrong)
	}
	return nil
}
