package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// canonicalCase is a JSON text, its RFC 8785 form and the digest of that form.
type canonicalCase struct {
	Name      string `json:"name"`
	JSON      string `json:"json"`
	Canonical string `json:"canonical"`
	Digest    string `json:"digest"`
}

// canonicalJSON states the forms, so that they are compared with the service's own code here and with each SDK there.
func canonicalJSON() (any, error) {
	cases := []canonicalCase{
		{Name: "no members", JSON: `{}`, Canonical: `{}`},
		{Name: "members in another order, with spaces", JSON: "{ \"b\" : 1,\n \"a\" : [ 1 , {\"d\":null, \"c\":true} ] }", Canonical: `{"a":[1,{"c":true,"d":null}],"b":1}`},
		{Name: "keys by UTF-16 code unit", JSON: `{"\ufb33":8,"\ud83d\ude00":7,"\u20ac":6,"\u00e9":5,"b":1,"aa":3,"a":4,"B":2,"1":9,"":10}`,
			Canonical: "{\"\":10,\"1\":9,\"B\":2,\"a\":4,\"aa\":3,\"b\":1,\"é\":5,\"€\":6,\"😀\":7,\"\ufb33\":8}"},
		{Name: "only what must be escaped", JSON: `{"t":"\u0022 \\ \/ \u003c\u0026> \t\n\r\b\f\u0007 \u2028 \u007f"}`, Canonical: "{\"t\":\"\\\" \\\\ / <&> \\t\\n\\r\\b\\f\\u0007 \u2028 \u007f\"}"},
		{Name: "composed and decomposed letters stay", JSON: `["\u00e9","e\u0301"]`, Canonical: "[\"é\",\"e\u0301\"]"},
	}
	for _, n := range [][2]string{
		{"0", "0"}, {"-0", "0"}, {"-0.0", "0"}, {"1", "1"}, {"1.0", "1"}, {"1e0", "1"}, {"120.50", "120.5"}, {"0.1", "0.1"}, {"1e-6", "0.000001"}, {"1e-7", "1e-7"},
		{"0.30000000000000004", "0.30000000000000004"}, {"1e20", "100000000000000000000"}, {"1e21", "1e+21"}, {"9007199254740991", "9007199254740991"},
		{"-9007199254740991", "-9007199254740991"}, {"5e-324", "5e-324"}, {"1.7976931348623157e308", "1.7976931348623157e+308"}, {"333333333.3333332", "333333333.3333332"},
		{"333333333.33333325", "333333333.33333325"}, {"1424953923781206.2", "1424953923781206.2"}, {"0.000001", "0.000001"}, {"1E30", "1e+30"}, {"4.50", "4.5"}, {"2e-3", "0.002"},
		{"0.000000000000000000000000001", "1e-27"},
	} {
		cases = append(cases, canonicalCase{Name: "the number " + n[0], JSON: "[" + n[0] + "]", Canonical: "[" + n[1] + "]"})
	}
	cases = append(cases, rfc8785()...)
	for i := range cases {
		c := &cases[i]
		c.Digest = canonical.DigestBytes([]byte(c.Canonical))
		form, err := canonical.JSON(json.RawMessage(c.JSON))
		if errors.Is(err, canonical.ErrUnsafeNumber) { // which the service refuses
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		if string(form) != c.Canonical {
			return nil, fmt.Errorf("%s: the service writes %s", c.Name, form)
		}
	}
	var hashes any
	text, err := os.ReadFile("../../internal/platform/canonical/testdata/action_hash_vectors.json")
	if err == nil {
		err = json.Unmarshal(text, &hashes)
	}
	refused := []object{
		{"name": "the first half of a surrogate pair", "guard": "surrogates", "json": `{"t":"\ud83d"}`},
		{"name": "the second half of a surrogate pair in a key", "guard": "surrogates", "json": `{"\ude00":1}`},
	}
	return object{"version": version, "cases": cases, "refused": refused, "action_hashes": hashes}, err
}

// rfc8785 are the examples of RFC 8785, the numbers of its appendix B, and the texts of the test data that it names
// (github.com/cyberphone/json-canonicalization).
func rfc8785() []canonicalCase {
	cases := []canonicalCase{
		{Name: "RFC 8785, section 3.2.2", JSON: `{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
			Canonical: `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{Name: "RFC 8785, section 3.2.3", JSON: `{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			Canonical: `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`},
		{Name: "arrays", JSON: `[56,{"d":true,"10":null,"1":[ ]}]`, Canonical: `[56,{"1":[],"10":null,"d":true}]`},
		{Name: "French, which is not sorted as in France", JSON: `{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ignore locale"}`,
			Canonical: `{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ignore locale"}`},
		{Name: "structures", JSON: `{"1":{"f":{"f":"hi","F":5},"\n":56.0},"10":{ },"":"empty","a":{ },"111":[{"e":"yes","E":"no"}],"A":{ }}`,
			Canonical: `{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}`},
		{Name: "Unicode that is not normalized", JSON: `{"Unnormalized Unicode":"A\u030a"}`, Canonical: "{\"Unnormalized Unicode\":\"A\u030a\"}"},
		{Name: "weird keys", JSON: `{"\u20ac":"Euro Sign","\r":"Carriage Return","\u000a":"Newline","1":"One","\u0080":"Control\u007f","\ud83d\ude02":"Smiley","</script>":"Browser Challenge"}`,
			Canonical: `{"\n":"Newline","\r":"Carriage Return","1":"One","</script>":"Browser Challenge","` + "\u0080" + `":"Control` + "\u007f" + `","€":"Euro Sign","😂":"Smiley"}`},
	}
	for _, n := range []struct {
		bits uint64
		form string
	}{
		{0x0000000000000000, "0"}, {0x8000000000000000, "0"}, {0x0000000000000001, "5e-324"}, {0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"}, {0xffefffffffffffff, "-1.7976931348623157e+308"}, {0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"}, {0x4430000000000000, "295147905179352830000"}, {0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"}, {0x44b52d02c7e14af7, "1.0000000000000001e+23"}, {0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"}, {0x444b1ae4d6e2ef50, "1e+21"}, {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"}, {0x41b3de4355555553, "333333333.3333332"}, {0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"}, {0x41b3de4355555556, "333333333.3333334"}, {0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"}, {0x43143ff3c1cb0959, "1424953923781206.2"},
	} {
		text := strconv.FormatFloat(math.Float64frombits(n.bits), 'e', 16, 64)
		cases = append(cases, canonicalCase{Name: fmt.Sprintf("RFC 8785, appendix B: %016x", n.bits), JSON: "[" + text + "]", Canonical: "[" + n.form + "]"})
	}
	return cases
}
