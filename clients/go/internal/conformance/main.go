// Command conformance makes the calls of the scenarios that all clients share, and prints what came of each
// (clients/conformance/README.md). It compares nothing.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	magistrate "magistrate.example/clients/go"
)

type scenario struct {
	Name   string `json:"name"`
	Client struct {
		Key         string                 `json:"key"`
		Store       string                 `json:"store"`
		Timeout     *float64               `json:"timeout"`
		Retries     *int                   `json:"retries"`
		Consistency magistrate.Consistency `json:"consistency"`
	} `json:"client"`
	Tokens map[string]string            `json:"tokens"`
	Steps  []map[string]json.RawMessage `json:"steps"`
}

// line is what is printed of a step.
type line struct {
	Scenario string     `json:"scenario"`
	Step     int        `json:"step"`
	Answer   any        `json:"answer"`
	Error    *errorLine `json:"error,omitempty"`
	Token    *string    `json:"token"`
	Seconds  float64    `json:"seconds"`
}

func main() {
	content, err := os.ReadFile(os.Getenv("MAGISTRATE_CONFORMANCE"))
	exitOn(err)
	var read struct {
		Scenarios []scenario `json:"scenarios"`
	}
	exitOn(json.Unmarshal(content, &read))
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for _, one := range read.Scenarios {
		exitOn(one.run(os.Getenv("MAGISTRATE_CONFORMANCE_CONTROL"), output))
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (s *scenario) run(control string, output *json.Encoder) error {
	client, err := magistrate.New(s.options()...)
	if err != nil {
		return err
	}
	defer client.Close()
	for number, members := range s.Steps {
		if err := announce(control, s.Name, number); err != nil {
			return err
		}
		one := step{members: members, tokens: s.Tokens}
		if name := one.text("token"); name != "" {
			client = client.At(s.Tokens[name])
		}
		caller := client
		if name := one.text("at"); name != "" {
			caller = client.At(s.Tokens[name])
		}
		begun := time.Now()
		answer, err := one.call(context.Background(), caller)
		printed := line{Scenario: s.Name, Step: number, Answer: answer, Seconds: time.Since(begun).Seconds()}
		if err != nil {
			printed.Answer, printed.Error = nil, describe(err)
		}
		if token := client.Token(); token != "" {
			printed.Token = &token
		}
		if name := one.text("save"); name != "" {
			s.Tokens[name] = client.Token()
		}
		if err := output.Encode(printed); err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) options() []magistrate.Option {
	options := []magistrate.Option{magistrate.WithKey(s.Client.Key)}
	if s.Client.Store != "" {
		options = append(options, magistrate.WithStore(s.Client.Store))
	}
	if s.Client.Timeout != nil {
		options = append(options, magistrate.WithTimeout(time.Duration(*s.Client.Timeout*float64(time.Second))))
	}
	if s.Client.Retries != nil {
		options = append(options, magistrate.WithRetries(*s.Client.Retries))
	}
	if s.Client.Consistency != "" {
		options = append(options, magistrate.WithConsistency(s.Client.Consistency))
	}
	return options
}

// announce says to the driver which step comes.
func announce(control, scenario string, number int) error {
	body, err := json.Marshal(map[string]any{"scenario": scenario, "step": number})
	if err != nil {
		return err
	}
	answer, err := http.Post(control, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the driver answered %d", answer.StatusCode)
	}
	return nil
}
