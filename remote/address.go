package remote

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// address is where workers are, as a program names them.
type address struct {
	text   string // as in messages: scheme and host
	scheme string // http or https
	host   string // host:port, as it is sent
	socket string // the path of a Unix socket, else ""
	name   bool   // the host is a name that is to be looked up
}

// parseAddress reads an address of Workers.Addresses. Plain HTTP beyond this machine is an
// error unless plain is set.
func parseAddress(text string, plain bool) (address, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		path = strings.TrimPrefix(path, "//")
		if path == "" {
			return address{}, fmt.Errorf("Remote.Addresses: %q names no socket; write unix:/path/of/socket", text)
		}
		return address{text: "unix:" + path, scheme: "http", host: "localhost", socket: path}, nil
	}
	whole := text
	if !strings.Contains(whole, "://") {
		whole = "http://" + whole
	}
	u, err := url.Parse(whole)
	switch {
	case err != nil || u.Hostname() == "" || u.Port() == "":
		return address{}, fmt.Errorf("Remote.Addresses: %q is no address of a worker; write http://host:port, https://host:port or unix:path", text)
	case u.Scheme != "http" && u.Scheme != "https":
		return address{}, fmt.Errorf("Remote.Addresses: %q is neither http nor https", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return address{}, fmt.Errorf("Remote.Addresses: %q has more than a scheme, a host and a port; a token belongs into Remote.Token", text)
	}
	_, err = netip.ParseAddr(u.Hostname())
	a := address{text: u.Scheme + "://" + u.Host, scheme: u.Scheme, host: u.Host, name: err != nil && u.Hostname() != "localhost"}
	if u.Scheme == "http" && !plain && !loopback(u.Hostname()) {
		return a, fmt.Errorf("Remote.Addresses: %s is another machine, and http is plain text: whoever is on the way can change rows. Use https (Remote.TLS), or set Remote.PlainText where the network is trusted", a.text)
	}
	return a, nil
}

// loopback reports whether a host is this machine for certain.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// onMachine reports whether a listener can only be reached from this machine.
func onMachine(a net.Addr) bool {
	switch a := a.(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	}
	return false
}
