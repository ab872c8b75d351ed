package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/storage"
)

// home is an environment of variables, with files of profiles in a folder.
func home(t *testing.T, config, credentials string, variables map[string]string) func(string) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{
		"AWS_CONFIG_FILE": filepath.Join(dir, "config"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "credentials"),
		"AWS_EC2_METADATA_DISABLED": "true",
	}
	if config != "" {
		require.NoError(t, os.WriteFile(all["AWS_CONFIG_FILE"], []byte(config), 0o600))
	}
	if credentials != "" {
		require.NoError(t, os.WriteFile(all["AWS_SHARED_CREDENTIALS_FILE"], []byte(credentials), 0o600))
	}
	for name, value := range variables {
		all[name] = value
	}
	return func(name string) string { return all[name] }
}

const (
	someConfig = `
# settings
[default]
region = eu-west-1
output=json
[profile train] ; a comment
region=eu-central-1
endpoint_url = http://minio:9000
s3 =
    max_concurrent_requests = 20
    region = nowhere
[profile sso]
sso_session = corp
[profile role]
role_arn = arn:aws:iam::1:role/x
source_profile = default
aws_access_key_id = NOT
[profile web]
role_arn = arn:aws:iam::1:role/web
`
	someCredentials = `
[default]
aws_access_key_id = DEFAULT
aws_secret_access_key = defaultsecret
[train]
aws_access_key_id=TRAIN
aws_secret_access_key=train=secret # trailing
aws_session_token = tok
`
)

func TestProfiles(t *testing.T) {
	tests := []struct {
		name, profile    string
		variables        map[string]string
		want             Credentials
		region, endpoint string
		err              string
	}{
		{name: "variables", variables: map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t", "AWS_REGION": "r", "AWS_ENDPOINT_URL": "http://e"},
			want: Credentials{AccessKeyID: "ENV", SecretAccessKey: "s", SessionToken: "t", Source: "AWS_ACCESS_KEY_ID"}, region: "r", endpoint: "http://e"},
		{name: "one variable", variables: map[string]string{"AWS_ACCESS_KEY_ID": "ENV"}, region: "eu-west-1", err: "one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both"},
		{name: "default", want: Credentials{AccessKeyID: "DEFAULT", SecretAccessKey: "defaultsecret", Source: "profile default"}, region: "eu-west-1"},
		{name: "named by a variable", variables: map[string]string{"AWS_PROFILE": "train", "AWS_ENDPOINT_URL_S3": "http://s3"},
			want: Credentials{AccessKeyID: "TRAIN", SecretAccessKey: "train=secret", SessionToken: "tok", Source: "profile train"}, region: "eu-central-1", endpoint: "http://s3"},
		{name: "variables before a variable's profile", variables: map[string]string{"AWS_PROFILE": "train", "AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s"},
			want: Credentials{AccessKeyID: "ENV", SecretAccessKey: "s", Source: "AWS_ACCESS_KEY_ID"}, region: "eu-central-1", endpoint: "http://minio:9000"},
		{name: "the option before variables", profile: "train", variables: map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s"},
			want: Credentials{AccessKeyID: "TRAIN", SecretAccessKey: "train=secret", SessionToken: "tok", Source: "profile train"}, region: "eu-central-1", endpoint: "http://minio:9000"},
		{name: "single sign-on", profile: "sso", err: "profile sso has sso_session, which is not known here; run `aws configure export-credentials --format env`"},
		{name: "role", profile: "role", err: "profile role has role_arn, which is not known here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := readEnvironmentOf(tt.profile, home(t, someConfig, someCredentials, tt.variables))
			require.NoError(t, err)
			require.Equal(t, tt.region, e.region())
			require.Equal(t, tt.endpoint, e.endpoint("S3"))
			c, err := e.credentials(t.Context())
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, c)
		})
	}
	_, err := readEnvironmentOf("nobody", home(t, someConfig, someCredentials, nil))
	require.ErrorContains(t, err, "the profile nobody is neither in ")
	e, err := readEnvironmentOf("", home(t, "", "", nil))
	require.NoError(t, err)
	_, err = e.credentials(t.Context())
	require.ErrorContains(t, err, "no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
}

const lentJSON = `{"Code":"Success","AccessKeyId":"LENT","SecretAccessKey":"ls","Token":"lt","Expiration":"2030-01-02T03:04:05Z"}`

var lentKeys = Credentials{AccessKeyID: "LENT", SecretAccessKey: "ls", SessionToken: "lt", Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}

func TestContainer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("the token\n"), 0o600))
	var tries atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if r.URL.Path != "/keys" || r.Header.Get("Authorization") != "the token" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, lentJSON)
	}))
	defer s.Close()
	e, err := readEnvironmentOf("", home(t, "", "", map[string]string{
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": s.URL + "/keys", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file,
	}))
	require.NoError(t, err)
	c, err := e.credentials(t.Context())
	require.NoError(t, err)
	want := lentKeys
	want.Source = "the container"
	require.Equal(t, want, c)

	for _, address := range []string{"http://example.org/keys", "ftp://localhost", ":"} {
		e, err = readEnvironmentOf("", home(t, "", "", map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": address}))
		require.NoError(t, err)
		_, err = e.credentials(t.Context())
		require.ErrorContains(t, err, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "tokens go to nobody else")
	}
}

func TestMachine(t *testing.T) {
	var role atomic.Bool // the handler runs beside the test
	role.Store(true)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const roles = "/latest/meta-data/iam/security-credentials/"
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" && r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") != "":
			_, _ = io.WriteString(w, "session")
		case r.Header.Get("X-aws-ec2-metadata-token") != "session":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == roles && role.Load():
			_, _ = io.WriteString(w, "my role\n")
		case r.URL.Path == roles+"my role":
			_, _ = io.WriteString(w, lentJSON)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	e, err := readEnvironmentOf("", home(t, "", "", map[string]string{"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": s.URL}))
	require.NoError(t, err)
	c, err := e.credentials(t.Context())
	require.NoError(t, err)
	want := lentKeys
	want.Source = "the machine's role my role"
	require.Equal(t, want, c)
	role.Store(false)
	_, err = e.credentials(t.Context())
	require.ErrorContains(t, err, "no credentials were found")
}

func TestWebIdentity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("jwt\n"), 0o600))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("Action") != "AssumeRoleWithWebIdentity" || r.FormValue("WebIdentityToken") != "jwt" || r.FormValue("RoleArn") != "arn:role" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>`)
			return
		}
		_, _ = io.WriteString(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
			<Credentials><SessionToken>lt</SessionToken><SecretAccessKey>ls</SecretAccessKey><Expiration>2030-01-02T03:04:05Z</Expiration><AccessKeyId>LENT</AccessKeyId></Credentials>
			</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`)
	}))
	defer s.Close()
	variables := map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": file, "AWS_ROLE_ARN": "arn:role", "AWS_ENDPOINT_URL_STS": s.URL}
	e, err := readEnvironmentOf("", home(t, someConfig, someCredentials, variables))
	require.NoError(t, err)
	c, err := e.credentials(t.Context())
	require.NoError(t, err)
	want := lentKeys
	want.Source = "the web identity's role arn:role"
	require.Equal(t, want, c)
	variables["AWS_ROLE_ARN"] = "arn:other"
	e, err = readEnvironmentOf("", home(t, "", "", variables))
	require.NoError(t, err)
	_, err = e.credentials(t.Context())
	require.ErrorContains(t, err, "the role arn:other cannot be had from "+s.URL+": 400 Bad Request AccessDenied: not you (AWS_ROLE_ARN)")
}

// Keys that expire are renewed before they do, by one goroutine, and keep for as long as
// they hold where they cannot be.
func TestKeysAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var fail atomic.Bool
		k := newKeys(func(context.Context) (Credentials, error) {
			time.Sleep(time.Second)
			if fail.Load() {
				return Credentials{}, errors.New("the service is away")
			}
			return Credentials{AccessKeyID: fmt.Sprint("key", calls.Add(1)), SecretAccessKey: "s", Expires: time.Now().Add(time.Hour)}, nil
		})
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				s, err := k.get(t.Context())
				require.NoError(t, err)
				require.Equal(t, "key1", s.AccessKeyID)
			})
		}
		all.Wait()
		time.Sleep(54 * time.Minute)
		s, err := k.get(t.Context())
		require.NoError(t, err)
		require.Equal(t, "key1", s.AccessKeyID)
		time.Sleep(2 * time.Minute)
		fail.Store(true)
		s, err = k.get(t.Context())
		require.NoError(t, err)
		require.Equal(t, "key1", s.AccessKeyID, "they hold for four minutes more")
		fail.Store(false)
		time.Sleep(renewPause)
		s, err = k.get(t.Context())
		require.NoError(t, err)
		require.Equal(t, "key2", s.AccessKeyID)

		require.True(t, k.renew("Credential=key1/x"), "others have come since")
		require.True(t, k.renew("Credential=key2/x"))
		s, err = k.get(t.Context())
		require.NoError(t, err)
		require.Equal(t, "key3", s.AccessKeyID)

		fail.Store(true)
		time.Sleep(2 * time.Hour)
		_, err = k.get(t.Context())
		require.ErrorIs(t, err, storage.ErrUnavailable)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = k.get(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
