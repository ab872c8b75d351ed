package remote

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
)

// ReadToken reads a token from a file, without the space around it. An empty file is an
// error.
func ReadToken(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("remote: the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, "\r\n") {
		return "", fmt.Errorf("remote: the token file %s is empty or has several lines; one line is wanted", file)
	}
	return token, nil
}

// ServerTLS returns the configuration of a worker from PEM files: its certificate and key,
// and where clients is not "" the authority that must have signed the certificates of those
// who ask (mutual TLS).
func ServerTLS(cert, key, clients string) (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("remote: the certificate %s and its key %s: %w", cert, key, err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS13}
	if clients != "" {
		c.ClientAuth = tls.RequireAndVerifyClientCert
		c.ClientCAs, err = authorities(clients)
	}
	return c, err
}

// ClientTLS returns the configuration of a training program from PEM files: the authority
// that must have signed the workers' certificates, "" for those of the system, and where cert
// is not "" its own certificate and key (mutual TLS).
func ClientTLS(servers, cert, key string) (c *tls.Config, err error) {
	c = &tls.Config{MinVersion: tls.VersionTLS13}
	if servers != "" {
		if c.RootCAs, err = authorities(servers); err != nil {
			return nil, err
		}
	}
	if cert != "" {
		own, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("remote: the certificate %s and its key %s: %w", cert, key, err)
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}

func authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("remote: the authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("remote: the file %s has no certificate in PEM", file)
	}
	return pool, nil
}
