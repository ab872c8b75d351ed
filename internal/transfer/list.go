package transfer

import (
	"context"
	"fmt"
	"io"
)

// maxDocument is the longest document that is read: a list of a thousand names of a
// kilobyte has a few megabytes.
const maxDocument = 64 << 20

// Document gets a document that is made when it is asked for, such as a list of names.
func (c *Client) Document(ctx context.Context, r *Request) ([]byte, error) {
	t := tries{c: c, name: r.Name}
	for {
		body, err := c.document(ctx, r)
		if err == nil {
			return body, nil
		}
		if err = t.next(ctx, err); err != nil {
			return nil, err
		}
	}
}

func (c *Client) document(ctx context.Context, r *Request) ([]byte, error) {
	req, err := r.New(ctx)
	if err != nil {
		return nil, err
	}
	h := c.host(req.URL.Host)
	if err := h.enter(ctx, c); err != nil {
		return nil, err
	}
	a := c.newAnswer(ctx, h)
	defer a.close()
	c.counts.lists.Add(1)
	if err := a.ask(r, req); err != nil {
		return nil, err
	}
	return a.whole()
}

// whole reads the body to its end.
func (a *answer) whole() (body []byte, err error) {
	body = make([]byte, 0, max(a.resp.ContentLength, 16<<10)+1)
	for err == nil {
		if len(body) > maxDocument {
			return nil, fmt.Errorf("the answer is longer than %d bytes", maxDocument)
		}
		if len(body) == cap(body) {
			body = append(body, make([]byte, len(body))...)[:len(body)]
		}
		a.silence.Reset(a.c.network.SilentFor)
		var n int
		n, err = a.resp.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
	}
	if err == io.EOF {
		return body, nil
	}
	return nil, a.lost(err)
}
