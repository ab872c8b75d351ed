package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// drainTime is how long Serve lets requests end when it is to end itself.
const drainTime = 10 * time.Second

// Drain has the worker answer no more requests for rows, and GET /healthz say so, while those
// at work go on.
func (s *Server) Drain() { s.draining.Store(true) }

// Serve answers what comes in at l until ctx ends, lets the requests at work end for a few
// seconds, and returns nil. Plain HTTP on an address that other machines can reach is an error
// unless ServerOptions.PlainText is set. L is closed in any case.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if s.o.TLS == nil && !s.o.PlainText && !onMachine(l.Addr()) {
		l.Close()
		return fmt.Errorf("remote: other machines can reach %s, and http is plain text: whoever is on the way can change rows. Give ServerOptions.TLS, listen on 127.0.0.1, or set PlainText where the network is trusted", l.Addr())
	}
	if s.o.TLS != nil {
		l = tls.NewListener(l, s.o.TLS)
	} else {
		l = taking(l)
	}
	h := &http.Server{
		Handler: s, ConnContext: withConn, ReadHeaderTimeout: readTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // the library never logs
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	err := h.Shutdown(late)
	if err != nil {
		err = errors.Join(h.Close())
	}
	if e := <-ended; err == nil && !errors.Is(e, http.ErrServerClosed) {
		err = e
	}
	return err
}
