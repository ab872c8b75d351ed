package s3

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The requests of Amazon's documentation, with the signatures that it gives:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
func TestPublishedSignatures(t *testing.T) {
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	tests := []struct{ query, key, rng, names, signature string }{
		{"", "test.txt", "bytes=0-9", "host;range;x-amz-content-sha256;x-amz-date", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"lifecycle=", "", "", "host;x-amz-content-sha256;x-amz-date", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"max-keys=2&prefix=J", "", "", "host;x-amz-content-sha256;x-amz-date", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	}
	s := &signer{Credentials: Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}}
	for _, tt := range tests {
		p, err := newPlace("https://examplebucket.s3.amazonaws.com", "", "us-east-1")
		require.NoError(t, err)
		u, _ := p.url(tt.key, tt.query)
		u.Path, u.RawPath = "/"+tt.key, ""
		r := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}
		if tt.rng != "" {
			r.Header.Set("Range", tt.rng)
		}
		s.sign(r, emptyHash, "us-east-1", "s3", at)
		require.Equal(t, "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="+
			tt.names+", Signature="+tt.signature, r.Header.Get("Authorization"))
	}
}

// signedByBotocore are requests as botocore 1.43 signs them; testdata/sign.py makes them.
var signedByBotocore = []struct{ endpoint, bucket, key, query, region, token, signature string }{
	{"http://localhost:9000", "data", "train/a.tar", "", "us-east-1", "", "be8adb2bf305fb4aa3cb2311f465659ed800ffa7a33d89aa4b8a459296f53218"},
	{"http://localhost:9000/base", "data", "a b+c%2F/\u00e9/\u6f22~.jpg", "", "eu-central-1", "", "e0ce8636b11c8b18bb96636ec2d85f0d67a54d98c83f229feb21036a74716079"},
	{"", "bucket", "train/=&?#;:@,!$'()*[].jpg", "", "ap-southeast-2", "", "4bfe2c112da0fa9d44c378dc46ad7e7dc17b7d95eecc92b1d5e77ec202602011"},
	{"", "dotted.bucket", "x", "", "us-west-2", "token/with+chars==", "aca8adc654d3d944bfbe2fa9d11f4c146669a6a33d26b848133b55db09c6eba2"},
	{"", "bucket", "x", "", "cn-north-1", "", "9a69cab911368b4894246ac87dbb4db4a317bcc2529980401879d48d5a6dfe7f"},
	{"https://storage.googleapis.com", "bucket", "", "continuation-token=a%2Fb%3D%3D&delimiter=%2F&encoding-type=url&list-type=2&prefix=tr%20ain%2F", "auto", "", "5bd08d9f21da465fad0bd16794fc63ca08009cfeadc907280dcee1bc9d25989a"},
}

func TestSignaturesOfBotocore(t *testing.T) {
	at := time.Date(2026, 2, 28, 23, 59, 59, 0, time.UTC)
	for _, tt := range signedByBotocore {
		p, err := newPlace(tt.endpoint, tt.bucket, tt.region)
		require.NoError(t, err)
		u, region := p.url(tt.key, tt.query)
		r := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}
		s := &signer{Credentials: Credentials{AccessKeyID: "AKID", SecretAccessKey: "se/cret+", SessionToken: tt.token}}
		s.sign(r, emptyHash, region, "s3", at)
		_, signature, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
		require.Equal(t, tt.signature, signature, "%s %s", u, tt.token)
	}
}

func TestEscapedPathsAreSentAsTheyAreSigned(t *testing.T) {
	for _, key := range []string{"a", "a b", "a+b", "ü/漢", "a%2Fb", "a~b-c_d.e", "=&?#;:@,!$'()*[]", "\x01\x7f\"<>\\^`{|}", "a//b"} {
		p, err := newPlace("http://localhost:9000/base", "bucket", "eu-west-1")
		require.NoError(t, err)
		u, _ := p.url(key, "")
		require.Equal(t, "/base/bucket/"+key, u.Path)
		require.Equal(t, escape(u.Path, true), u.EscapedPath(), "or else the signature is of another path")
	}
}

func TestKeyIsDerivedOncePerDay(t *testing.T) {
	s := &signer{Credentials: Credentials{AccessKeyID: "a", SecretAccessKey: "b"}}
	one := s.derive("20260101/us-east-1/s3/aws4_request")
	require.Same(t, &one[0], &s.derive("20260101/us-east-1/s3/aws4_request")[0])
	require.NotEqual(t, one, s.derive("20260102/us-east-1/s3/aws4_request"))
	require.Equal(t, one, s.derive("20260101/us-east-1/s3/aws4_request"))
}
