package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client asks a node over its JSON API.
type client struct{ addr string }

const askTimeout = 10 * time.Second

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// ask sends a request and reads the answer into out. The error has the exit code: invalid, or could not tell.
func (c client) ask(ctx context.Context, method, path string, in, out any) error {
	base := c.addr
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, base+path, body)
	if err != nil {
		return fmt.Errorf("--addr is %q, want HOST:PORT of a node's --http: %w", c.addr, err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return unknown(fmt.Errorf("no node answers at %s: %w (--addr is the --http address of a node)", c.addr, err))
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return unknown(fmt.Errorf("the answer of %s: %w", c.addr, err))
	}
	if res.StatusCode != http.StatusOK {
		return refusal(c.addr, res.StatusCode, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return unknown(fmt.Errorf("%s does not answer like a node: %w", c.addr, err))
	}
	return nil
}

// refusal is the error that a node answered with.
func refusal(addr string, status int, text []byte) error {
	var answer struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal(text, &answer) != nil || answer.Error.Message == "" {
		return unknown(fmt.Errorf("%s answers %d and not like a node: is it the --http address?", addr, status))
	}
	err := errors.New(answer.Error.Message)
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge:
		return err
	}
	return unknown(err)
}
