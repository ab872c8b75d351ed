package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// wrongJSON says what is wrong with a file of JSON, in which line where that is
// known, and in words of JSON instead of Go's.
func wrongJSON(path string, data []byte, want string, err error) error {
	where := path
	line := func(offset int64) {
		read := data[:min(offset, int64(len(data)))]
		where = fmt.Sprintf("%s, line %d", path, 1+bytes.Count(read, []byte("\n")))
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		line(syntax.Offset)
	}
	if typed := (*json.UnmarshalTypeError)(nil); errors.As(err, &typed) {
		line(typed.Offset)
		name := "it"
		if typed.Field != "" {
			name = fmt.Sprintf("%q", typed.Field)
		}
		err = fmt.Errorf("%s is a JSON %s, not %s", name, typed.Value, jsonKind(typed.Type))
	}
	return fmt.Errorf("%s: %w; the file must hold %s in JSON", where, err, want)
}

// jsonKind names what JSON a Go type is read from.
func jsonKind(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a string"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Int:
		return "a whole number"
	}
	return "a number"
}
