package display_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/annotation"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

func parse(t *testing.T, schema string) display.Plan {
	t.Helper()
	plan, err := display.Parse([]byte(schema))
	require.NoError(t, err)
	return plan
}

// one is a schema with one annotated property named v.
func one(annotation string) string {
	return `{"properties": {"v": {"x-countersign-display": ` + annotation + `}}}`
}

func TestDetailsFormatValues(t *testing.T) {
	t.Parallel()
	const euro, yen = `{"label": "L", "format": "money", "currency": "EUR"}`, `{"label": "L", "format": "money", "currency": "JPY"}`
	for name, c := range map[string]struct{ annotation, value, want string }{
		"money fills the minor units":         {euro, `250`, "250.00 EUR"},
		"money separates thousands":           {euro, `1250.5`, "1,250.50 EUR"},
		"money from a string":                 {euro, `"1234567.89"`, "1,234,567.89 EUR"},
		"money is never rounded":              {euro, `0.005`, "0.005 EUR"},
		"money keeps the digits that came":    {euro, `9007199254740993.01`, "9,007,199,254,740,993.01 EUR"},
		"money with an exponent":              {euro, `1.5e3`, "1,500.00 EUR"},
		"negative money":                      {euro, `-1250.5`, "-1,250.50 EUR"},
		"a currency without minor units":      {yen, `250`, "250 JPY"},
		"yen with decimals keeps them":        {yen, `250.5`, "250.5 JPY"},
		"three minor units":                   {`{"label": "L", "format": "money", "currency": "KWD"}`, `1.5`, "1.500 KWD"},
		"money that is no number":             {euro, `"ten"`, "ten EUR"},
		"money that is an object":             {euro, `{"a": 1}`, `{"a":1} EUR`},
		"number":                              {`{"label": "L", "format": "number"}`, `1234567.5`, "1,234,567.5"},
		"number that is no number":            {`{"label": "L", "format": "number"}`, `true`, "true"},
		"date":                                {`{"label": "L", "format": "date"}`, `"2026-11-02"`, "2 November 2026"},
		"date in the year 0":                  {`{"label": "L", "format": "date"}`, `"0000-02-03"`, "0000-02-03"},
		"datetime in the year 0 in UTC":       {`{"label": "L", "format": "datetime"}`, `"0001-01-01T00:30:00+02:00"`, "0001-01-01T00:30:00+02:00"},
		"date that is none":                   {`{"label": "L", "format": "date"}`, `"2026-13-02"`, "2026-13-02"},
		"datetime is shown in UTC":            {`{"label": "L", "format": "datetime"}`, `"2026-11-02T01:30:00+02:00"`, "1 November 2026, 23:30:00 UTC"},
		"datetime with a comma":               {`{"label": "L", "format": "datetime"}`, `"2026-11-02T01:30:00,5Z"`, "2026-11-02T01:30:00,5Z"},
		"datetime with an hour of one digit":  {`{"label": "L", "format": "datetime"}`, `"2026-11-02T1:30:00Z"`, "2026-11-02T1:30:00Z"},
		"datetime of year 10000":              {`{"label": "L", "format": "datetime"}`, `"9999-12-31T23:59:59-00:01"`, "9999-12-31T23:59:59-00:01"},
		"IBAN in groups":                      {`{"label": "L", "format": "account"}`, `"de89370400440532013000"`, "DE89 3704 0044 0532 0130 00"},
		"IBAN with a wrong checksum":          {`{"label": "L", "format": "account"}`, `"DE88370400440532013000"`, "DE88370400440532013000"},
		"another account number":              {`{"label": "L", "format": "account"}`, `"12-3456"`, "12-3456"},
		"masked":                              {`{"label": "L", "format": "masked"}`, `"4111111111111234"`, "•••• 1234"},
		"masked of a short value":             {`{"label": "L", "format": "masked"}`, `"1234"`, "•••• 4"},
		"text":                                {`{"label": "L", "format": "text"}`, `"Jürgen Groß & Söhne"`, "Jürgen Groß & Söhne"},
		"text of another script":              {`{"label": "L", "format": "text"}`, `"Иван Петров"`, "Иван Петров"},
		"text of two scripts in two words":    {`{"label": "L", "format": "text"}`, `"Bank Москва"`, "Bank Москва"},
		"bidirectional control is visible":    {`{"label": "L", "format": "text"}`, "\"Groß\u202e 052\"", "Groß[U+202E] 052"},
		"line break is visible":               {`{"label": "L", "format": "text"}`, `"a\nb"`, "a[U+000A]b"},
		"zero-width character is visible":     {`{"label": "L", "format": "text"}`, "\"a\u200bb\"", "a[U+200B]b"},
		"Cyrillic letter in a Latin word":     {`{"label": "L", "format": "text"}`, "\"P\u0430ypal\"", "P[U+0430]ypal"},
		"Cyrillic word that looks like Latin": {`{"label": "L", "format": "text"}`, "\"\u0440\u0430\u0443 Bank\"", "[U+0440][U+0430][U+0443] Bank"},
		"mathematical letters":                {`{"label": "L", "format": "text"}`, `"𝐏ay"`, "[U+1D40F]ay"},
		"fullwidth digits":                    {`{"label": "L", "format": "text"}`, `"１0"`, "[U+FF11]0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			details, err := parse(t, one(c.annotation)).Details("res", []byte(`{"v": `+c.value+`}`))
			require.NoError(t, err)
			require.Len(t, details, 1)
			require.Equal(t, c.want, details[0].Value)
		})
	}
}

// The canonical form is the value without the conventions of any language. A value that does not fit its format has none.
func TestDetailsHaveACanonicalForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ annotation, value, want string }{
		"money":                     {`{"label": "L", "format": "money", "currency": "EUR"}`, `"1250.5"`, "1250.50 EUR"},
		"three minor units":         {`{"label": "L", "format": "money", "currency": "KWD"}`, `250000`, "250000.000 KWD"},
		"money with an exponent":    {`{"label": "L", "format": "money", "currency": "JPY"}`, `-1.5e3`, "-1500 JPY"},
		"money that is no number":   {`{"label": "L", "format": "money", "currency": "EUR"}`, `"ten"`, ""},
		"money without a currency":  {`{"label": "L", "format": "money", "currency": "/currency"}`, `10`, ""},
		"number":                    {`{"label": "L", "format": "number"}`, `1234567.5`, "1234567.5"},
		"date":                      {`{"label": "L", "format": "date"}`, `"2026-11-02"`, "2026-11-02"},
		"date that is none":         {`{"label": "L", "format": "date"}`, `"2026-13-02"`, ""},
		"datetime":                  {`{"label": "L", "format": "datetime"}`, `"2026-11-02T01:30:00+02:00"`, "2026-11-01T23:30:00Z"},
		"IBAN":                      {`{"label": "L", "format": "account"}`, `"de89 3704 0044 0532 0130 00"`, "DE89370400440532013000"},
		"another account":           {`{"label": "L", "format": "account"}`, `"12-3456"`, ""},
		"masked, of which no more":  {`{"label": "L", "format": "masked"}`, `"4111111111111234"`, ""},
		"text, which has no second": {`{"label": "L", "format": "text"}`, `"1250.5"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			details, err := parse(t, one(c.annotation)).Details("res", []byte(`{"v": `+c.value+`}`))
			require.NoError(t, err)
			require.Equal(t, c.want, details[0].Canonical)
		})
	}
}

func TestDetailsHaveLabelsInOtherLanguages(t *testing.T) {
	t.Parallel()
	details, err := parse(t, one(`{"label": "Payee", "labels": {"de": "Empfänger", "pt-BR": "Favorecido"}, "format": "text"}`)).Details("res", []byte(`{"v": "Groß"}`))
	require.NoError(t, err)
	require.Equal(t, "Payee", details[0].Label)
	require.Equal(t, map[string]string{"de": "Empfänger", "pt-BR": "Favorecido"}, details[0].Labels)
	translated, err := display.Digest(details)
	require.NoError(t, err)
	details[0].Labels = map[string]string{"de": "Absender"}
	changed, err := display.Digest(details)
	require.NoError(t, err)
	require.NotEqual(t, translated, changed, "a passkey signs every label")
}

// ISO 4217 says how many decimals a currency has. Locale data says how many are used in cash, which are fewer.
func TestMoneyHasTheMinorUnitsOfISO4217(t *testing.T) {
	t.Parallel()
	for want, codes := range map[string]string{
		"7":      "JPY KRW CLP ISK VND UGX XAF XOF XPF UYI PYG RWF KMF GNF DJF BIF VUV",
		"7.00":   "AFN ALL AMD COP GYD IDR IRR KPW LAK LBP MGA MMK MNT MUR PKR RSD SOS SYP TZS UZS YER MRU VES VED SLE XCG ZWG EUR USD HUF CZK TWD CRC NOK SEK",
		"7.000":  "IQD BHD JOD KWD LYD OMR TND",
		"7.0000": "UYW CLF",
	} {
		for code := range strings.FieldsSeq(codes) {
			details, err := parse(t, one(`{"label": "L", "format": "money", "currency": "`+code+`"}`)).Details("res", []byte(`{"v": 7}`))
			require.NoError(t, err, code)
			require.Equal(t, want+" "+code, details[0].Value)
		}
	}
}

func TestDetailsOrderAndSelection(t *testing.T) {
	t.Parallel()
	plan := parse(t, `{"type": "object", "x-countersign-display": {"label": "To account", "format": "account"}, "properties": {
		"amount": {"type": "number", "x-countersign-display": {"label": "Amount", "format": "money", "currency": "/currency"}},
		"currency": {"type": "string"},
		"payee": {"properties": {"name": {"x-countersign-display": {"label": "Payee", "format": "text"}}}},
		"memo": {"x-countersign-display": {"label": "Memo", "format": "text", "order": 1}}}}`)
	for name, c := range map[string]struct {
		context string
		want    [][2]string
	}{
		"all, in order": {`{"amount": 250, "currency": "EUR", "payee": {"name": "Jürgen Groß"}, "memo": "Rent"}`,
			[][2]string{{"Memo", "Rent"}, {"Amount", "250.00 EUR"}, {"To account", "DE89 3704 0044 0532 0130 00"}, {"Payee", "Jürgen Groß"}}},
		"null and missing values are left out": {`{"memo": null}`, [][2]string{{"To account", "DE89 3704 0044 0532 0130 00"}}},
		"a currency that is missing":           {`{"amount": 1}`, [][2]string{{"Amount", "1 (no currency)"}, {"To account", "DE89 3704 0044 0532 0130 00"}}},
		"a currency that is unknown":           {`{"amount": 1, "currency": "eur"}`, [][2]string{{"Amount", "1 eur"}, {"To account", "DE89 3704 0044 0532 0130 00"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			details, err := plan.Details("DE89370400440532013000", []byte(c.context))
			require.NoError(t, err)
			var got [][2]string
			for _, d := range details {
				got = append(got, [2]string{d.Label, d.Value})
			}
			require.Equal(t, c.want, got)
		})
	}
}

// One line of a request names it by the value that the schema marks, and otherwise by its first text.
func TestOutlineNamesARequest(t *testing.T) {
	t.Parallel()
	const schema = `{"x-countersign-display": {"label": "To account", "format": "account"}, "properties": {
		"amount": {"x-countersign-display": {"label": "Amount", "format": "money", "currency": "EUR"}},
		"fee": {"x-countersign-display": {"label": "Fee", "format": "money", "currency": "EUR"}},
		"invoice": {"x-countersign-display": {"label": "Invoice", "format": "text"}},
		"payee": {"x-countersign-display": {"label": "Payee", "format": "text"%s}}}}`
	const context = `{"amount": 250, "fee": 1, "invoice": "INV-7", "payee": "Müller"}`
	const account = "DE89 3704 0044 0532 0130 00"
	for name, c := range map[string]struct {
		schema        string
		title, amount string
		identifying   []string
	}{
		"marked":     {fmt.Sprintf(schema, `, "title": true`), "Müller", "250.00 EUR", []string{account, "Müller"}},
		"first text": {fmt.Sprintf(schema, ""), "INV-7", "250.00 EUR", []string{account, "INV-7"}},
		"no text":    {`{"x-countersign-display": {"label": "To account", "format": "account"}}`, account, "", []string{account}},
		"nothing":    {`{}`, "", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := parse(t, c.schema)
			details, err := plan.Details("DE89370400440532013000", []byte(context))
			require.NoError(t, err)
			outline := display.Outlined(details)
			require.Equal(t, c.title, outline.Title)
			declared := slices.ContainsFunc(details, func(d display.Detail) bool { return d.Title })
			require.Equal(t, name == "marked", declared, "a button that signs names what is declared and nothing else")
			require.Equal(t, c.amount, outline.Amount)
			var identifying []string
			for _, d := range outline.Identifying {
				identifying = append(identifying, d.Value)
			}
			require.Equal(t, c.identifying, identifying)
		})
	}
	_, err := display.Parse([]byte(`{"properties": {"a": {"x-countersign-display": {"label": "A", "format": "text", "title": true}},
		"b": {"x-countersign-display": {"label": "B", "format": "text", "title": true}}}}`))
	require.ErrorContains(t, err, "title can be true for one value only")
}

func TestDetailsWithoutAnnotationAreNone(t *testing.T) {
	t.Parallel()
	plan := parse(t, `{"type": "object", "properties": {"amount": {"type": "number"}}}`)
	require.True(t, plan.Empty())
	details, err := plan.Details("res", []byte(`{"amount": 1}`))
	require.NoError(t, err)
	require.Nil(t, details)
}

func TestDetailsAreBounded(t *testing.T) {
	t.Parallel()
	plan := parse(t, one(`{"label": "L", "format": "text"}`))
	long := strings.Repeat("ä", 1000)
	details, err := plan.Details("res", []byte(`{"v": "`+long+`"}`))
	require.NoError(t, err)
	require.Equal(t, display.MaxValue, utf8.RuneCountInString(details[0].Value))
	require.True(t, strings.HasSuffix(details[0].Value, "… (1000 characters)"), details[0].Value)
}

func TestParseRefusesAnnotationsThatCannotBeShown(t *testing.T) {
	t.Parallel()
	many := make([]string, display.MaxDetails+1)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d": {"x-countersign-display": {"label": "L", "format": "text"}}`, i)
	}
	for name, c := range map[string]struct{ schema, place, why string }{
		"no label":             {one(`{"format": "text"}`), "/properties/v/x-countersign-display", "label must have 1 to 64 characters"},
		"a control in a label": {one("{\"label\": \"a\\u202e\", \"format\": \"text\"}"), "/properties/v/x-countersign-display", "label must not contain U+202E at position 1"},
		"a language":           {one(`{"label": "L", "labels": {"german": "L"}, "format": "text"}`), "/properties/v/x-countersign-display", `labels has "german", which must be a language tag`},
		"an empty label":       {one(`{"label": "L", "labels": {"de": ""}, "format": "text"}`), "/properties/v/x-countersign-display", "labels.de must have 1 to 64 characters"},
		"unknown format":       {one(`{"label": "L", "format": "iban"}`), "/properties/v/x-countersign-display", "format must be one of text, money, number, date, datetime, account, masked"},
		"money without":        {one(`{"label": "L", "format": "money"}`), "/properties/v/x-countersign-display", "currency is required for money"},
		"no such currency":     {one(`{"label": "L", "format": "money", "currency": "EURO"}`), "/properties/v/x-countersign-display", "currency must be an ISO 4217 code"},
		"currency of text":     {one(`{"label": "L", "format": "text", "currency": "EUR"}`), "/properties/v/x-countersign-display", "currency is for the format money"},
		"order":                {one(`{"label": "L", "format": "text", "order": 100}`), "/properties/v/x-countersign-display", "order must be 1 to 99"},
		"no object":            {one(`"Amount"`), "/properties/v/x-countersign-display", "must be an object such as"},
		"a name with a slash":  {`{"properties": {"a/b~c": {"x-countersign-display": 1}}}`, "/properties/a~1b~0c/x-countersign-display", "must be an object such as"},
		"inside items":         {`{"properties": {"v": {"items": {"x-countersign-display": {"label": "L", "format": "text"}}}}}`, "", "not inside other keywords"},
		"inside allOf":         {`{"allOf": [` + one(`{"label": "L", "format": "text"}`) + `]}`, "", "not inside other keywords"},
		"too many":             {`{"properties": {` + strings.Join(many, ", ") + `}}`, "", "at most 12 values can be shown, and 13 have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := display.Parse([]byte(c.schema))
			var fault *annotation.Fault
			require.True(t, errors.As(err, &fault), "%v", err)
			require.Equal(t, c.place, fault.Place)
			require.Contains(t, fault.Why, c.why)
		})
	}
}

func TestDigestChangesWithEveryCharacter(t *testing.T) {
	t.Parallel()
	details := []display.Detail{{Label: "Amount", Value: "250.00 EUR", Format: display.Money, Canonical: "250.00 EUR"}, {Label: "Payee", Value: "Jürgen Groß"}}
	digest, err := display.Digest(details)
	require.NoError(t, err)
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, digest)
	for _, other := range [][]display.Detail{
		{{Label: "Amount", Value: "250.01 EUR", Format: display.Money, Canonical: "250.00 EUR"}, details[1]},
		{{Label: "Amount", Value: "250.00 EUR", Format: display.Money, Canonical: "250.01 EUR"}, details[1]},
		{details[1], details[0]},
		{details[0]},
	} {
		changed, err := display.Digest(other)
		require.NoError(t, err)
		require.NotEqual(t, digest, changed)
	}
}

func TestVaultOpensForItsAuthorizationOnly(t *testing.T) {
	t.Parallel()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	vault := display.NewVault(keys)
	details := []display.Detail{{Label: "Amount", Value: "250.00 EUR"}}
	totals := []display.Detail{{Label: "limit: Amount in 24 hours", Value: "940.00 EUR of 1,000.00 EUR"}}
	sealed, err := vault.Seal("azn_1", details, totals)
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "250")
	opened, err := vault.Open("azn_1", sealed)
	require.NoError(t, err)
	require.Equal(t, details, opened, "the person does not see totals")
	opened, compared, err := vault.OpenAll("azn_1", sealed)
	require.NoError(t, err)
	require.Equal(t, details, opened)
	require.Equal(t, totals, compared)
	_, err = vault.Open("azn_2", sealed)
	require.Error(t, err)
	none, err := vault.Open("azn_1", nil)
	require.NoError(t, err)
	require.Nil(t, none)
}

// Whatever the values, a detail is valid UTF-8, within its bound, and without characters that change how text is read.
func FuzzDetails(f *testing.F) {
	f.Add(`{"v": "Jürgen Groß", "w": 250}`)
	f.Add("{\"v\": \"a\u202eb\", \"w\": 1e99}")
	plan, err := display.Parse([]byte(`{"properties": {"v": {"x-countersign-display": {"label": "V", "format": "text"}},
		"w": {"x-countersign-display": {"label": "W", "format": "money", "currency": "/v"}}}}`))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, context string) {
		if !json.Valid([]byte(context)) || !strings.HasPrefix(strings.TrimSpace(context), "{") {
			return
		}
		details, err := plan.Details("res", []byte(context))
		require.NoError(t, err)
		for _, d := range details {
			require.True(t, utf8.ValidString(d.Value), "%q", d.Value)
			require.LessOrEqual(t, utf8.RuneCountInString(d.Value), display.MaxValue)
			require.NotContains(t, d.Value, "\u202e")
			require.NotContains(t, d.Value, "\n")
		}
	})
}

func TestSentSaysWhichDetailsAreValuesOfTheRequest(t *testing.T) {
	t.Parallel()
	plan, err := display.Parse([]byte(`{"properties": {
		"payee": {"x-countersign-display": {"label": "Payee", "format": "text"}}, "account": {"x-countersign-display": {"label": "Account", "format": "account"}},
		"card": {"x-countersign-display": {"label": "Card", "format": "masked"}}, "count": {"x-countersign-display": {"label": "Count", "format": "number"}}}}`))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		label, value string
		want         bool
	}{
		"a text":                 {"Payee", "Müller & Söhne", true},
		"an account":             {"Account", "DE89370400440532013000", true},
		"a masked value":         {"Card", "4111111111111111", false},
		"a number":               {"Count", "1000", false},
		"a long text":            {"Payee", strings.Repeat("é", 300), false},
		"a hidden character":     {"Payee", "a\u202eb", false},
		"a byte that is no text": {"Payee", "a\xffb", false},
		"what looks like one":    {"Payee", "[U+202E]", false},
	} {
		context, err := json.Marshal(map[string]string{map[string]string{"Payee": "payee", "Account": "account", "Card": "card", "Count": "count"}[c.label]: c.value})
		require.NoError(t, err)
		if name == "a byte that is no text" {
			context = []byte(`{"payee": "` + c.value + `"}`)
		}
		details, err := plan.Details("", context)
		require.NoError(t, err, name)
		require.Equal(t, c.want, details[0].Sent(), "%s: %v", name, details)
	}
}
