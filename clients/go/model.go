package magistrate

import (
	"context"
	"errors"
	"net/url"
	"strings"
)

// Model returns the model as text (docs/models.md).
func (c *Client) Model(ctx context.Context, options ...CallOption) (string, error) {
	chosen := readOptions(options)
	parameters := url.Values{}
	setUnlessEmpty(parameters, "asOf", chosen.asOf)
	return c.callText(ctx, request{
		method: "GET", path: "/v2/model", query: parameters, isRead: true, token: chosen.token, accept: textType,
	})
}

// WriteModel replaces the whole model and returns it as it is stored. Unless expected is empty, the model must not have
// changed since the answer that this token comes from; otherwise the error is [ErrPreconditionFailed].
func (c *Client) WriteModel(ctx context.Context, text, expected string) (string, error) {
	if text == "" {
		return "", invalid("text", "the text of a model is missing")
	}
	parameters := url.Values{}
	setUnlessEmpty(parameters, "expectedRevision", expected)
	return c.callText(ctx, request{
		method: "PUT", path: "/v2/model", query: parameters, text: text, accept: textType,
	})
}

// callText sends a request whose answer is the text of a model.
func (c *Client) callText(ctx context.Context, r request) (string, error) {
	var text string
	_, err := c.call(ctx, r, func(body []byte) error {
		text = string(body)
		if !strings.HasPrefix(text, "version ") {
			return errors.New("the text of the model is missing")
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return text, nil
}
