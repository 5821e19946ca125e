package cases

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes the report as one JSON object on a line of its own. The error is that of w.
func (r *Report) WriteJSON(w io.Writer) error {
	type step struct {
		File     string         `json:"file"`
		Line     int            `json:"line"`
		Case     string         `json:"case"`
		Step     int            `json:"step"`
		At       string         `json:"at"`
		Passed   bool           `json:"passed"`
		Wrong    []string       `json:"wrong,omitempty"`
		Times    int64          `json:"times"`
		Allowed  int64          `json:"allowed"`
		Refused  string         `json:"refused,omitempty"`
		Decision map[string]any `json:"decision,omitempty"` // the last
	}
	type problem struct {
		File   string `json:"file"`
		Line   int    `json:"line"`
		Column int    `json:"column"`
		Text   string `json:"text"`
	}
	out := struct {
		Cases    int       `json:"cases"`
		Steps    int       `json:"steps"`
		Failed   int       `json:"failed"`
		Problems []problem `json:"problems"`
		Results  []step    `json:"results"`
	}{Problems: []problem{}, Results: []step{}}
	out.Cases, out.Steps, out.Failed = r.Counts()
	for _, p := range r.Problems {
		out.Problems = append(out.Problems, problem(p))
	}
	for _, f := range r.Files {
		for _, c := range f.Cases {
			for i := range c.Steps {
				o := &c.Steps[i]
				out.Results = append(out.Results, step{
					f.Name, o.Line, c.Name, o.Step, o.At.String(), len(o.Wrong) == 0, o.Wrong, o.Times, o.Allowed, o.Refused, o.decision(),
				})
			}
		}
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(out)
}

// decision is the last decision, by the names of what can be expected of it; nil if there is none.
func (o *Outcome) decision() map[string]any {
	if o.Refused != "" {
		return nil
	}
	all := map[string]any{"allowed": o.Last.Allowed}
	for _, f := range fields {
		value := f.of(&o.Last)
		if text, ok := value.(fmt.Stringer); ok { // a time
			value = text.String()
		}
		all[f.name] = value
	}
	return all
}
