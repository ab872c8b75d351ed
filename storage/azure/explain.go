package azure

import (
	"encoding/xml"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/transfer"
)

// explain says what an answer that is no success means.
func (s *server) explain(r *http.Response, body []byte) transfer.Verdict {
	var f struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
	}
	_ = xml.Unmarshal(body, &f) // what is no such document has no code
	code := f.Code
	if c := r.Header.Get("X-Ms-Error-Code"); c != "" {
		code = c
	}
	host := r.Request.URL.Host
	said := fmt.Errorf("%s answers %s", host, printable.Line(r.Status))
	if code != "" {
		said = fmt.Errorf("%s answers %d %s", host, r.StatusCode, printable.Line(code))
	}
	switch code {
	case "ContainerNotFound":
		return transfer.Verdict{Away: true, Err: fmt.Errorf("there is no container %s at %s; correct the name or the account", printable.Name(s.container), host)}
	case "AuthenticationFailed", "InvalidAuthenticationInfo":
		remedy := "set AZURE_STORAGE_SAS_TOKEN to a signature that is whole and has not expired"
		if s.token != nil {
			remedy = "see that the token is for https://storage.azure.com and has not expired"
		}
		return transfer.Verdict{Away: true, Err: fmt.Errorf("%s does not know who asks (%s); %s", host, printable.Line(code), remedy)}
	case "BlobArchived":
		return transfer.Verdict{Err: fmt.Errorf("the blob is archived; move it to a tier that can be read at once")}
	}
	switch r.StatusCode {
	case http.StatusNotFound:
		if code == "" || code == "BlobNotFound" || code == "ResourceNotFound" {
			return transfer.Verdict{Err: fmt.Errorf("%w: the container has no such blob", fs.ErrNotExist)}
		}
	case http.StatusForbidden, http.StatusUnauthorized, http.StatusConflict:
		if code == "PublicAccessNotPermitted" || r.StatusCode != http.StatusConflict {
			return transfer.Verdict{Err: fmt.Errorf("%w: %w; give a signature with the permissions to read and to list (AZURE_STORAGE_SAS_TOKEN)", fs.ErrPermission, said)}
		}
	}
	return transfer.ByStatus(r, said)
}
