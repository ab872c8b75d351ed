package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/transfer"
)

// Credentials are the keys that requests are signed with.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string    // of keys for some time
	Expires         time.Time // zero for never
	Source          string    // where they come from, as errors say it
}

const (
	renewBefore  = 5 * time.Minute // keys are renewed before they expire
	renewTimeout = time.Minute
	renewPause   = 10 * time.Second // after keys that still hold could not be renewed
)

// keys keeps credentials until they expire.
type keys struct {
	from    func(context.Context) (Credentials, error)
	current atomic.Pointer[held]
	turn    chan struct{} // of the one goroutine that renews
}

// held is a signer and when to look for its successor.
type held struct {
	signer
	renew time.Time // zero for never
}

func newKeys(from func(context.Context) (Credentials, error)) *keys {
	return &keys{from: from, turn: make(chan struct{}, 1)}
}

func (h *held) due() bool { return h == nil || !h.renew.IsZero() && !time.Now().Before(h.renew) }

// get returns what to sign with now.
func (k *keys) get(ctx context.Context) (*signer, error) {
	h := k.current.Load()
	if !h.due() {
		return &h.signer, nil
	}
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-k.turn }()
	if h = k.current.Load(); !h.due() {
		return &h.signer, nil
	}
	limited, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	c, err := k.from(limited)
	if err == nil && (c.AccessKeyID == "" || c.SecretAccessKey == "") {
		err = fmt.Errorf("there is no key in the credentials (%s)", c.Source)
	}
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case h != nil && time.Now().Before(h.Expires):
			later := &held{signer: signer{Credentials: h.Credentials}, renew: time.Now().Add(renewPause)}
			k.current.Store(later)
			return &later.signer, nil
		}
		return nil, transfer.Away(err)
	}
	h = &held{signer: signer{Credentials: c}}
	if !c.Expires.IsZero() {
		h.renew = c.Expires.Add(-renewBefore)
		if soon := time.Now().Add(renewPause); h.renew.Before(soon) {
			h.renew = soon // whoever gives keys for so short a time is asked often, but not always
		}
	}
	k.current.Store(h)
	return &h.signer, nil
}

// renew has the credentials with which a request was signed fetched anew, if they ever
// expire, and reports whether there may be others then.
func (k *keys) renew(authorization string) bool {
	if k == nil {
		return false
	}
	h := k.current.Load()
	if h == nil {
		return true
	}
	if !strings.Contains(authorization, "Credential="+h.AccessKeyID+"/") {
		return true // others have been fetched already
	}
	return !h.Expires.IsZero() && k.current.CompareAndSwap(h, nil)
}

// describe names the access key and where it comes from; the secret never leaves.
func (k *keys) describe() string {
	if k == nil {
		return "(none)"
	}
	h := k.current.Load()
	if h == nil {
		return "(expired)"
	}
	return printable.Line(fmt.Sprintf("%.128s (from %s)", h.AccessKeyID, cmp.Or(h.Source, "the program")))
}

// credentials looks for credentials where Amazon's tools do, in their order.
func (e *environment) credentials(ctx context.Context) (Credentials, error) {
	if e.explicit {
		if c, ok, err := e.fromProfile(ctx); ok || err != nil {
			return c, err
		}
	}
	if id, secret := e.get("AWS_ACCESS_KEY_ID"), e.get("AWS_SECRET_ACCESS_KEY"); id != "" || secret != "" {
		if id == "" || secret == "" {
			return Credentials{}, errors.New("one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both")
		}
		return Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: e.get("AWS_SESSION_TOKEN"), Source: "AWS_ACCESS_KEY_ID"}, nil
	}
	if file, role := e.get("AWS_WEB_IDENTITY_TOKEN_FILE"), e.get("AWS_ROLE_ARN"); file != "" && role != "" {
		return e.webIdentity(ctx, file, role, e.get("AWS_ROLE_SESSION_NAME"))
	}
	for _, look := range []func(context.Context) (Credentials, bool, error){e.fromProfile, e.fromContainer, e.fromMachine} {
		if c, ok, err := look(ctx); ok || err != nil {
			return c, err
		}
	}
	return Credentials{}, fmt.Errorf("no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE (looked in the environment, in profile %s of %s and %s, for a container's and for the machine's)",
		printable.Name(e.profile), e.credentialsFile, e.configFile)
}
