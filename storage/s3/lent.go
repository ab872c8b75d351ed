package s3

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/planktonml/plankton/internal/printable"
)

// lent is keys for some time, as containers and machines get them.
type lent struct {
	Code            string
	AccessKeyID     string `json:"AccessKeyId" xml:"AccessKeyId"`
	SecretAccessKey string
	Token           string `xml:"SessionToken"`
	Expiration      time.Time
}

func (l *lent) credentials(source string) Credentials {
	return Credentials{AccessKeyID: l.AccessKeyID, SecretAccessKey: l.SecretAccessKey, SessionToken: l.Token, Expires: l.Expiration, Source: source}
}

// webIdentity changes a token of another system for keys of a role:
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
func (e *environment) webIdentity(ctx context.Context, file, role, session string) (Credentials, error) {
	token, err := os.ReadFile(file)
	if err != nil {
		return Credentials{}, fmt.Errorf("the web identity's token: %w (AWS_WEB_IDENTITY_TOKEN_FILE)", err)
	}
	address := e.endpoint("STS")
	if address == "" {
		address = amazon("sts", cmp.Or(e.region(), "us-east-1")).String()
	}
	form := url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {role},
		"RoleSessionName": {cmp.Or(session, "plankton")}, "WebIdentityToken": {strings.TrimSpace(string(token))},
	}
	body, err := askFor(ctx, http.MethodPost, address+"/", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, form.Encode(), http.ProxyFromEnvironment, 10*time.Second)
	if err != nil {
		return Credentials{}, fmt.Errorf("the role %s cannot be had from %s: %w (AWS_ROLE_ARN)", printable.Name(role), address, err)
	}
	var answer struct {
		Credentials lent `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	if err := xml.Unmarshal(body, &answer); err != nil {
		return Credentials{}, fmt.Errorf("the role %s: the answer of %s: %w", printable.Name(role), address, err)
	}
	return answer.Credentials.credentials("the web identity's role " + role), nil
}

// fromContainer asks for the keys of a container:
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
func (e *environment) fromContainer(ctx context.Context) (c Credentials, ok bool, err error) {
	address := e.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if relative := e.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); relative != "" {
		address = "http://169.254.170.2" + relative
	}
	if address == "" {
		return c, false, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && (u.Scheme != "http" || !local(u.Hostname())) {
		return c, false, fmt.Errorf("AWS_CONTAINER_CREDENTIALS_FULL_URI is %.100q; want an address with https, or one of this machine", address)
	}
	token := e.get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if file := e.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return c, false, fmt.Errorf("the container's token: %w (AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE)", err)
		}
		token = strings.TrimSpace(string(text))
	}
	header := map[string]string{}
	if token != "" {
		header["Authorization"] = token
	}
	body, err := askFor(ctx, http.MethodGet, address, header, "", nil, 5*time.Second)
	if err != nil {
		return c, false, fmt.Errorf("the container's credentials: %w", err)
	}
	c, err = parseLent(body, "the container")
	return c, err == nil, err
}

// local reports whether a host may be asked for keys without encryption: this machine, or
// the services of ECS and EKS.
func local(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && (a.IsLoopback() || host == "169.254.170.2" || host == "169.254.170.23" || host == "fd00:ec2::23")
}

// fromMachine asks the metadata service of EC2, version 2:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
func (e *environment) fromMachine(ctx context.Context) (c Credentials, ok bool, err error) {
	if strings.EqualFold(e.get("AWS_EC2_METADATA_DISABLED"), "true") {
		return c, false, nil
	}
	base := strings.TrimSuffix(cmp.Or(e.get("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "http://169.254.169.254"), "/")
	token, err := askFor(ctx, http.MethodPut, base+"/latest/api/token", map[string]string{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": "21600"}, "", nil, time.Second)
	if err != nil {
		return c, false, ctx.Err() // no such machine
	}
	header := map[string]string{"X-Aws-Ec2-Metadata-Token": string(token)}
	const path = "/latest/meta-data/iam/security-credentials/"
	role, err := askFor(ctx, http.MethodGet, base+path, header, "", nil, 5*time.Second)
	if missing := (*statusError)(nil); errors.As(err, &missing) && missing.code == http.StatusNotFound {
		return c, false, nil // a machine without a role
	}
	if err != nil {
		return c, false, fmt.Errorf("the machine's role: %w", err)
	}
	name, _, _ := strings.Cut(strings.TrimSpace(string(role)), "\n")
	body, err := askFor(ctx, http.MethodGet, base+path+url.PathEscape(name), header, "", nil, 5*time.Second)
	if err != nil {
		return c, false, fmt.Errorf("the keys of the machine's role %s: %w", printable.Name(name), err)
	}
	c, err = parseLent(body, "the machine's role "+name)
	return c, err == nil, err
}

func parseLent(body []byte, source string) (Credentials, error) {
	var l lent
	if err := json.Unmarshal(body, &l); err != nil {
		return Credentials{}, fmt.Errorf("the keys of %s: %w", source, err)
	}
	if l.Code != "" && l.Code != "Success" {
		return Credentials{}, fmt.Errorf("the keys of %s: %s", source, printable.Line(l.Code))
	}
	return l.credentials(source), nil
}

// statusError is an answer that is no success.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

// askTimes is how often credentials are asked for.
const askTimes = 3

// askFor sends a small request, up to three times, each within a limit of time.
func askFor(ctx context.Context, method, address string, header map[string]string, body string, proxy func(*http.Request) (*url.URL, error), limit time.Duration) (answer []byte, err error) {
	transport := &http.Transport{Proxy: proxy, DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: limit}).DialContext}
	client := http.Client{Transport: transport, Timeout: limit}
	for n := range askTimes {
		if n > 0 {
			pause := time.NewTimer(100 * time.Millisecond << n)
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
				return nil, context.Cause(ctx)
			}
		}
		answer, err = askOnce(ctx, &client, method, address, header, body)
		if failed := (*statusError)(nil); err == nil || errors.As(err, &failed) && failed.code < 500 {
			return answer, err
		}
		if timeout := net.Error(nil); method == http.MethodPut && errors.As(err, &timeout) && timeout.Timeout() {
			return nil, err // nobody is there
		}
	}
	return nil, err
}

func askOnce(ctx context.Context, client *http.Client, method, address string, header map[string]string, body string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		text := resp.Status
		var f struct {
			Error failure // of STS
		}
		if xml.Unmarshal(answer, &f) == nil && f.Error.Code != "" {
			text = fmt.Sprintf("%s %s: %.200s", resp.Status, f.Error.Code, f.Error.Message)
		}
		err = &statusError{resp.StatusCode, printable.Line(text)}
	}
	return answer, err
}
