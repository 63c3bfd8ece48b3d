package destination

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/countersign-dev/countersign/internal/delivery/siem"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
)

// entryOverhead is about how many bytes an entry has beside its data.
const entryOverhead = 1200

// encoder returns the body of a batch.
type encoder func(links []audit.Link) ([]byte, error)

func ocsfEncoder(source siem.Source, encoding string) encoder {
	return func(links []audit.Link) ([]byte, error) {
		list := make([]any, len(links))
		for i, l := range links {
			var err error
			if list[i], err = source.OCSF(l); err != nil {
				return nil, err
			}
		}
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if encoding == EncodingArray {
			err := enc.Encode(list)
			return out.Bytes(), err
		}
		for _, event := range list {
			if err := enc.Encode(event); err != nil {
				return nil, err
			}
		}
		return out.Bytes(), nil
	}
}

func otlpEncoder(source siem.Source, encoding string) encoder {
	return func(links []audit.Link) ([]byte, error) {
		request, err := source.OTLP(links...)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(request)
		if err != nil || encoding == EncodingJSON {
			return raw, err
		}
		var message logs.ExportLogsServiceRequest
		if err := protojson.Unmarshal(raw, &message); err != nil {
			return nil, err
		}
		return proto.Marshal(&message)
	}
}

// facility is "log audit" (RFC 5424, table 1), and syslogSeverities are those of table 2: informational, notice, warning, critical.
const facility = 13

var syslogSeverities = map[events.Severity]int{events.Informational: 6, events.Low: 5, events.Medium: 4, events.High: 2}

// maxMessageID bounds the MSGID of a message (RFC 5424, section 6).
const maxMessageID = 32

// syslogEncoder writes each entry as a message of RFC 5424 in the frame of RFC 5425, section 4.3: its length in bytes, a space, the message. The text is
// OCSF in ASCII, which needs no byte order mark.
func syslogEncoder(source siem.Source, host string) encoder {
	return func(links []audit.Link) ([]byte, error) {
		var out []byte
		for _, l := range links {
			event, err := source.OCSF(l)
			if err != nil {
				return nil, err
			}
			text, err := json.Marshal(event)
			if err != nil {
				return nil, err
			}
			mapping, _ := events.MappingOf(events.Type(l.Event.Type))
			head := fmt.Sprintf("<%d>1 %s %s countersign - %s - ", facility*8+syslogSeverities[mapping.Severity], l.Event.At.UTC().Format("2006-01-02T15:04:05.000000Z"), host,
				l.Event.Type[:min(len(l.Event.Type), maxMessageID)])
			text = ascii(text)
			out = strconv.AppendInt(out, int64(len(head)+len(text)), 10)
			out = append(append(append(out, ' '), head...), text...)
		}
		return out, nil
	}
}

// ascii returns JSON with its other characters written as escapes.
func ascii(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r < utf8.RuneSelf:
			out = append(out, text[i])
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}
