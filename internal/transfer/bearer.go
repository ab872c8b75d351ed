package transfer

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// SetBearer adds a token to a request. An error of the token's source is one of the whole
// store; see [Away].
func SetBearer(r *http.Request, token func(context.Context) (string, error)) error {
	t, err := token(r.Context())
	if err != nil {
		return Away(fmt.Errorf("no token: %w", err))
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(t))
	return nil
}
