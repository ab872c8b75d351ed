package s3

import (
	"context"
	"testing"

	"go.uber.org/goleak"
)

func static(id, secret string) func(context.Context) (Credentials, error) {
	return func(context.Context) (Credentials, error) {
		return Credentials{AccessKeyID: id, SecretAccessKey: secret, Source: "the test"}, nil
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
