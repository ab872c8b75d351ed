package s3

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/planktonml/plankton/internal/printable"
)

// environment is what Amazon's tools look at: variables and a section of the profile files.
type environment struct {
	get                         func(string) string // os.Getenv
	profile                     string
	explicit                    bool // the profile is that of the options, and goes before the variables
	credentialsFile, configFile string
	settings                    map[string]string // of the profile; the credentials file goes first
}

// readEnvironment reads the profile files, if there are any.
func readEnvironment(profile string) (*environment, error) {
	return readEnvironmentOf(profile, os.Getenv)
}

func readEnvironmentOf(profile string, get func(string) string) (*environment, error) {
	e := &environment{get: get, profile: cmp.Or(profile, get("AWS_PROFILE")), settings: map[string]string{}}
	e.explicit = profile != ""
	chosen := e.profile != ""
	e.profile = cmp.Or(e.profile, "default")
	home, _ := os.UserHomeDir() // without one the files are not there
	e.credentialsFile = cmp.Or(get("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, ".aws", "credentials"))
	e.configFile = cmp.Or(get("AWS_CONFIG_FILE"), filepath.Join(home, ".aws", "config"))
	found := false
	for _, f := range []struct{ name, section string }{{e.configFile, "profile " + e.profile}, {e.credentialsFile, e.profile}} {
		text, err := os.ReadFile(f.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the profile file cannot be read: %w", err)
		}
		sections := parseProfiles(text)
		settings, ok := sections[f.section]
		if !ok && e.profile == "default" {
			settings, ok = sections["default"]
		}
		found = found || ok
		for name, value := range settings {
			e.settings[name] = value
		}
	}
	if chosen && !found {
		return nil, fmt.Errorf("the profile %s is neither in %s nor in %s; correct AWS_PROFILE, or add it there",
			printable.Name(e.profile), e.credentialsFile, e.configFile)
	}
	return e, nil
}

// parseProfiles reads sections of settings, as in
//
//	[profile train]
//	region = eu-west-1
//
// Settings of settings, which are indented, are left out.
func parseProfiles(text []byte) map[string]map[string]string {
	sections := map[string]map[string]string{}
	var current map[string]string
	for scan := bufio.NewScanner(bytes.NewReader(text)); scan.Scan(); {
		line := scan.Text()
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			continue
		}
		if name, ok := strings.CutPrefix(trimmed, "["); ok {
			name, _, _ = strings.Cut(name, "]")
			name = strings.Join(strings.Fields(name), " ")
			if sections[name] == nil {
				sections[name] = map[string]string{}
			}
			current = sections[name]
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || current == nil || line[0] == ' ' || line[0] == '\t' {
			continue
		}
		for _, comment := range []string{" #", " ;", "\t#", "\t;"} {
			value, _, _ = strings.Cut(value, comment)
		}
		current[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	return sections
}

func (e *environment) region() string {
	return cmp.Or(e.get("AWS_REGION"), e.get("AWS_DEFAULT_REGION"), e.settings["region"])
}

// endpoint returns the address that is set for a service, "" for Amazon's.
func (e *environment) endpoint(service string) string {
	return cmp.Or(e.get("AWS_ENDPOINT_URL_"+service), e.get("AWS_ENDPOINT_URL"), e.settings["endpoint_url"])
}

// fromProfile takes the keys of the profile.
func (e *environment) fromProfile(ctx context.Context) (c Credentials, ok bool, err error) {
	set := e.settings
	source := "profile " + e.profile
	switch {
	case set["aws_access_key_id"] != "" && set["role_arn"] == "":
		return Credentials{
			AccessKeyID: set["aws_access_key_id"], SecretAccessKey: set["aws_secret_access_key"],
			SessionToken: set["aws_session_token"], Source: source,
		}, true, nil
	case set["web_identity_token_file"] != "" && set["role_arn"] != "":
		c, err = e.webIdentity(ctx, set["web_identity_token_file"], set["role_arn"], set["role_session_name"])
		return c, true, err
	}
	for _, name := range []string{"role_arn", "credential_process", "sso_session", "sso_start_url"} {
		if set[name] != "" {
			return c, false, fmt.Errorf("%s has %s, which is not known here; run `aws configure export-credentials --format env` and set what it prints, or give Options.Credentials from Amazon's SDK",
				printable.Name(source), name)
		}
	}
	return c, false, nil
}
