package s3

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scanPage reads the answer to a list as package encoding/xml does, in a fraction of its time:
// lists of a million names are many. What it does not know, such as comments, it leaves to
// that package; ok is false then.
func scanPage(body []byte) (page *listPage, ok bool) {
	page = &listPage{Contents: make([]content, 0, 1000)}
	s := xmlScanner{rest: body}
	if !utf8.Valid(body) || !s.prolog() {
		return nil, false
	}
	name, closing, _, ok := s.next()
	if !ok || closing || string(name) != "ListBucketResult" {
		return nil, false
	}
	page.XMLName.Local = string(name)
	for {
		name, closing, text, ok := s.next()
		switch {
		case !ok:
			return nil, false
		case closing:
			return page, string(name) == "ListBucketResult"
		case string(name) == "Contents":
			page.Contents = append(page.Contents, content{})
			c := &page.Contents[len(page.Contents)-1]
			ok = s.fields(name, func(name, text []byte) (known, ok bool) {
				switch string(name) {
				case "Key":
					return true, s.text(&c.Key, text)
				case "LastModified":
					return true, s.text(&c.LastModified, text)
				case "ETag":
					return true, s.text(&c.ETag, text)
				case "Size":
					n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
					c.Size = n
					return true, err == nil
				}
				return false, true
			})
		case string(name) == "CommonPrefixes":
			page.CommonPrefixes = append(page.CommonPrefixes, struct{ Prefix string }{})
			p := &page.CommonPrefixes[len(page.CommonPrefixes)-1].Prefix
			ok = s.fields(name, func(name, text []byte) (known, ok bool) {
				if string(name) != "Prefix" {
					return false, true
				}
				return true, s.text(p, text)
			})
		case string(name) == "EncodingType":
			ok = s.text(&page.EncodingType, text) && s.end(name)
		case string(name) == "NextContinuationToken":
			ok = s.text(&page.NextContinuationToken, text) && s.end(name)
		case string(name) == "IsTruncated":
			truth, err := strconv.ParseBool(string(bytes.TrimSpace(text)))
			page.IsTruncated = truth
			ok = err == nil && s.end(name)
		default:
			ok = s.skip(name)
		}
		if !ok {
			return nil, false
		}
	}
}

// xmlScanner goes through elements that have no attributes but namespaces, and hold text or
// other elements, not both.
type xmlScanner struct{ rest []byte }

// prolog passes over the declaration.
func (s *xmlScanner) prolog() bool {
	s.rest = bytes.TrimSpace(bytes.TrimPrefix(s.rest, []byte("\uFEFF")))
	if !bytes.HasPrefix(s.rest, []byte("<?xml ")) {
		return true
	}
	end := bytes.Index(s.rest, []byte("?>"))
	if end < 0 || !plainDeclaration(string(s.rest[:end])) {
		return false
	}
	s.rest = s.rest[end+2:]
	return true
}

// plainDeclaration reports whether a declaration names no other encoding than UTF-8.
func plainDeclaration(d string) bool {
	d = strings.ToLower(d)
	return !strings.Contains(d, "encoding") || strings.Contains(d, `"utf-8"`) || strings.Contains(d, "'utf-8'")
}

// next passes over blanks, one tag, and the text behind an opening one. An element that is
// empty, <x/>, is not known here.
func (s *xmlScanner) next() (name []byte, closing bool, text []byte, ok bool) {
	s.rest = bytes.TrimLeft(s.rest, " \t\r\n")
	if len(s.rest) < 3 || s.rest[0] != '<' {
		return nil, false, nil, false
	}
	end := bytes.IndexByte(s.rest, '>')
	if end < 0 {
		return nil, false, nil, false
	}
	tag := s.rest[1:end]
	s.rest = s.rest[end+1:]
	if len(tag) > 0 && tag[0] == '/' {
		closing, tag = true, tag[1:]
	} else if before, after, attributes := bytes.Cut(tag, []byte(" ")); attributes {
		if !bytes.HasPrefix(after, []byte(`xmlns="`)) || bytes.Count(after, []byte(`"`)) != 2 || after[len(after)-1] != '"' || bytes.ContainsAny(after, "<&") {
			return nil, false, nil, false
		}
		tag = before
	}
	for _, c := range tag {
		if c < '0' || c > 'z' || c > '9' && c < 'A' || c > 'Z' && c < 'a' {
			return nil, false, nil, false
		}
	}
	if len(tag) == 0 || closing {
		return tag, closing, nil, len(tag) > 0
	}
	end = bytes.IndexByte(s.rest, '<')
	if end < 0 {
		return nil, false, nil, false
	}
	text, s.rest = s.rest[:end], s.rest[end:]
	return tag, false, text, true
}

// end passes over the closing tag of an element.
func (s *xmlScanner) end(of []byte) bool {
	name, closing, _, ok := s.next()
	return ok && closing && bytes.Equal(name, of)
}

// skip passes over the rest of an element.
func (s *xmlScanner) skip(of []byte) bool {
	return s.fields(of, func(_, _ []byte) (known, ok bool) { return false, true })
}

// fields calls fn for the elements in one, to its end. What fn knows holds nothing but
// text; elements in others are passed over.
func (s *xmlScanner) fields(of []byte, fn func(name, text []byte) (known, ok bool)) bool {
	for {
		name, closing, text, ok := s.next()
		if !ok || closing {
			return ok && bytes.Equal(name, of)
		}
		known, ok := fn(name, text)
		if !ok || known && !s.end(name) || !known && !s.skip(name) {
			return false
		}
	}
}

// text sets a string to text without its references.
func (s *xmlScanner) text(to *string, text []byte) bool {
	if bytes.IndexByte(text, '\r') >= 0 || bytes.Contains(text, []byte("]]>")) {
		return false
	}
	if bytes.IndexByte(text, '&') < 0 {
		*to = string(text)
		return true
	}
	plain := make([]byte, 0, len(text))
	for {
		before, after, found := bytes.Cut(text, []byte("&"))
		plain = append(plain, before...)
		if !found {
			*to = string(plain)
			return true
		}
		name, rest, _ := bytes.Cut(after, []byte(";"))
		switch string(name) {
		case "quot":
			plain = append(plain, '"')
		case "amp":
			plain = append(plain, '&')
		case "lt":
			plain = append(plain, '<')
		case "gt":
			plain = append(plain, '>')
		case "apos":
			plain = append(plain, '\'')
		default:
			return false
		}
		text = rest
	}
}
