package lists

import (
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
)

// manyBody is the form of several new entries. Its names are those at which changeListEntries finds fault.
type manyBody struct {
	Add struct {
		Values    []string   `json:"value"`
		Reason    string     `json:"reason"`
		ExpiresAt *time.Time `json:"expires_at"`
	} `json:"add"`
}

// entries returns what to add: each line is a value, and behind a tab it may have a reason of its own.
func (b manyBody) entries() []lists.NewEntry {
	out := make([]lists.NewEntry, len(b.Add.Values))
	for i, line := range b.Add.Values {
		value, reason, _ := strings.Cut(line, "\t")
		if reason = strings.TrimSpace(reason); reason == "" {
			reason = b.Add.Reason
		}
		out[i] = lists.NewEntry{Value: strings.TrimSpace(value), Reason: reason, ExpiresAt: b.Add.ExpiresAt}
	}
	return out
}

// manyForm is the form of several new entries of the list that the path names.
func (c *Pages) manyForm(v *shell.Visit) (forms.Form, error) {
	f, err := c.newEntryForm(v)
	f.To, f.Submit = v.At("lists", v.Param("id"), "many"), "Add them"
	value, reason := &f.Fields[0], &f.Fields[1]
	value.Label, value.Kind, value.Rows, value.File = "Values", forms.Lines, 10, true
	value.Hint = "One value on each line, at most " + strconv.Itoa(lists.MaxEdit) + ". Paste a column of a table, or choose a file. Behind a tab, a line may have a reason of its own."
	reason.Required, reason.Hint = false, "Of the lines without a reason of their own: 1 to 256 characters."
	return f, err
}

func (c *Pages) newEntries(v *shell.Visit) error {
	f, err := c.manyForm(v)
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, f)
}

func (c *Pages) addEntries(v *shell.Visit) error {
	f, err := c.manyForm(v)
	if err != nil {
		return err
	}
	return forms.Submitted(v, f, func(in manyBody) error {
		if len(in.Add.Values) == 0 {
			return problem.Invalid(forms.Loc("add.value"), "Values must have at least 1 line.", "value_error")
		}
		id := v.Param("id")
		made, err := c.Changes.ChangeList(v.Context, v.Scope(), v.Changer(), id, lists.Edit{Add: in.entries()})
		return listChanged(v, made, atLine(err), id, "added")
	})
}

// atLine says in which line a value or a reason is refused: the location of a refusal has its position.
func atLine(err error) error {
	p := problem.As(err)
	if p == nil {
		return err
	}
	fields := make([]problem.Field, len(p.Fields))
	for i, f := range p.Fields {
		if n, ok := lineOf(f.Loc); ok {
			f = problem.Field{Loc: forms.Loc("add.value"), Msg: "Line " + strconv.Itoa(n+1) + ": " + f.Msg, Type: f.Type}
		}
		fields[i] = f
	}
	out := *p
	out.Fields = fields
	return &out
}

func lineOf(loc []any) (n int, ok bool) {
	if len(loc) == 4 && loc[1] == "add" && loc[3] != "expires_at" {
		n, ok = loc[2].(int)
	}
	return n, ok
}
