package s3

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pageOf is an answer as Amazon's server writes it.
func pageOf(names int) []byte {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix></Prefix>` +
		`<NextContinuationToken>1&amp;2=</NextContinuationToken><KeyCount>1000</KeyCount><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>`)
	for i := range names {
		fmt.Fprintf(&b, `<Contents><Key>train/n01440764/%07d&amp;.JPEG</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified><ETag>&quot;%032x&quot;</ETag>`+
			`<Owner><ID>x</ID><DisplayName></DisplayName></Owner><Size>112345</Size><StorageClass>STANDARD</StorageClass></Contents>`, i, i)
	}
	b.WriteString("<CommonPrefixes><Prefix>train/x/</Prefix></CommonPrefixes></ListBucketResult>")
	return []byte(b.String())
}

// same compares a page with that of encoding/xml, and reports whether scanPage took it.
func same(t *testing.T, body []byte) bool {
	t.Helper()
	got, ok := scanPage(body)
	if !ok {
		return false
	}
	want := new(listPage)
	if xml.Unmarshal(body, want) != nil {
		return true // what is wrong in elements that do not matter may pass
	}
	want.XMLName.Space = ""
	if len(got.Contents) == 0 {
		got.Contents = nil
	}
	require.Equal(t, want, got, "%q", body)
	return true
}

func TestScannedPages(t *testing.T) {
	require.True(t, same(t, pageOf(3)))
	page, ok := scanPage(pageOf(1))
	require.True(t, ok)
	require.Equal(t, content{"train/n01440764/0000000&.JPEG", "2024-01-01T00:00:00.000Z", `"` + strings.Repeat("0", 32) + `"`, 112345}, page.Contents[0])
	for _, text := range unusual {
		require.False(t, same(t, []byte(text)), text)
	}
}

// unusual is what is left to encoding/xml.
var unusual = []string{
	"", "<", "<a>", "<Error><Code>x</Code></Error>", "<ListBucketResult>", "<ListBucketResult><!-- x --></ListBucketResult>",
	"<ListBucketResult><Contents><Key><![CDATA[x]]></Key></Contents></ListBucketResult>", "<ListBucketResult><Contents><Key>&#65;</Key></Contents></ListBucketResult>",
	"<ListBucketResult><Contents><Key>a\rb</Key></Contents></ListBucketResult>", "<ListBucketResult><Prefix/></ListBucketResult>",
	"<ListBucketResult><Contents><Key>a</Size></Contents></ListBucketResult>", "<ListBucketResult><Contents><Size>x</Size></Contents></ListBucketResult>",
	"<ListBucketResult><Contents><Key>a<x></x> </Key></Contents></ListBucketResult>", `<ListBucketResult><Contents><Key xmlns="a>b">c</Key></Contents></ListBucketResult>`,
	`<?xml version="1.0" encoding="latin1"?><ListBucketResult></ListBucketResult>`,
}

func FuzzScanPage(f *testing.F) {
	f.Add(pageOf(2))
	for _, text := range unusual {
		f.Add([]byte(text))
	}
	f.Add([]byte("<ListBucketResult><Contents><Key>a</Key><Key> b</Key><Size> 7 </Size></Contents><IsTruncated>1</IsTruncated></ListBucketResult>x"))
	f.Add([]byte("<ListBucketResult><IsTruncated> true </IsTruncated></ListBucketResult>"))
	f.Fuzz(func(t *testing.T, body []byte) { same(t, body) })
}

func FuzzProfiles(f *testing.F) {
	f.Add([]byte(someConfig))
	f.Add([]byte(someCredentials))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, section := range parseProfiles(text) {
			for name, value := range section {
				require.Equal(t, strings.TrimSpace(name), name)
				require.Equal(t, strings.TrimSpace(value), value)
			}
		}
	})
}

func BenchmarkPage(b *testing.B) {
	body := pageOf(1000)
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			if _, ok := scanPage(body); !ok {
				b.Fatal("not taken")
			}
		}
	})
	b.Run("encoding/xml", func(b *testing.B) {
		for b.Loop() {
			if err := xml.Unmarshal(body, new(listPage)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
