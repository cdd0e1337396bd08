// Prints src/apiserver/core/protobuf_types.c: where the fields of the built-in kinds are in the binary form that Go clients send.
//
//	go run -C tools/kube-mod ./proto-gen >src/apiserver/core/protobuf_types.c
//
// Numbers and names come from the tags of the Go types; see src/apiserver/core/protobuf_types.h for the form.
package main

import (
	"fmt"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// In the order of enum proto_form.
const (
	formText = iota
	formBytes
	formInt
	formBool
	formReal
	formMessage
)

// In the order of enum proto_special.
const (
	plain = iota
	quantity
	intOrString
	instant
	microInstant
	rawJSON
	textList
	either
)

var specials = map[reflect.Type]int{
	reflect.TypeOf(resource.Quantity{}):    quantity,
	reflect.TypeOf(intstr.IntOrString{}):   intOrString,
	reflect.TypeOf(metav1.Time{}):          instant,
	reflect.TypeOf(metav1.MicroTime{}):     microInstant,
	reflect.TypeOf(runtime.RawExtension{}): rawJSON,
	reflect.TypeOf(metav1.FieldsV1{}):      rawJSON,
	reflect.TypeOf(apiextensionsv1.JSON{}): rawJSON,

	reflect.TypeOf(apiextensionsv1.JSONSchemaPropsOrArray{}):       either,
	reflect.TypeOf(apiextensionsv1.JSONSchemaPropsOrBool{}):        either,
	reflect.TypeOf(apiextensionsv1.JSONSchemaPropsOrStringArray{}): either,
}

type field struct {
	name                               string
	number, form, message              int
	repeated, isMap, inline, dropsZero bool
}

type message struct {
	special int
	fields  []field
}

var (
	messages []message
	numbers  = map[reflect.Type]int{}
)

// formOf tells a scalar's form, or formMessage with the number of its message.
func formOf(t reflect.Type) (int, int) {
	switch t.Kind() {
	case reflect.String:
		return formText, 0
	case reflect.Bool:
		return formBool, 0
	case reflect.Float32, reflect.Float64:
		return formReal, 0
	case reflect.Int32, reflect.Int64, reflect.Int, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return formInt, 0
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return formBytes, 0
		}
		if t.Elem().Kind() == reflect.String {
			return formMessage, textListNumber()
		}
	case reflect.Struct:
		return formMessage, messageOf(t)
	}
	panic("no form for " + t.String())
}

var textLists = -1

func textListNumber() int {
	if textLists < 0 {
		messages = append(messages, message{special: textList})
		textLists = len(messages) - 1
	}
	return textLists
}

func tagOf(tag string) (int, bool) {
	parts := strings.Split(tag, ",")
	if len(parts) < 3 {
		return 0, false
	}
	number, err := strconv.Atoi(parts[1])
	return number, err == nil
}

func fieldOf(f reflect.StructField) (field, bool) {
	number, ok := tagOf(f.Tag.Get("protobuf"))
	if !ok {
		return field{}, false
	}
	name, options, tagged := f.Tag.Get("json"), "", false
	if name, options, tagged = strings.Cut(name, ","); name == "" && !tagged { // of an either: its name is seen nowhere
		name = f.Name
	}
	r := field{name: name, number: number, inline: name == "" && strings.Contains(options, "inline")}
	t := f.Type
	r.dropsZero = strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
	if t.Kind() == reflect.Pointer {
		t, r.dropsZero = t.Elem(), false
	}
	switch {
	case t.Kind() == reflect.Map:
		r.isMap, t = true, t.Elem()
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && specials[t] == 0:
		r.repeated, t = true, t.Elem()
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	r.form, r.message = formOf(t)
	return r, r.inline || name != ""
}

func messageOf(t reflect.Type) int {
	if n, known := numbers[t]; known {
		return n
	}
	n := len(messages)
	numbers[t] = n
	messages = append(messages, message{special: specials[t]})
	if specials[t] != plain && specials[t] != either {
		return n
	}
	var fields []field
	for i := 0; i < t.NumField(); i++ {
		if f, ok := fieldOf(t.Field(i)); ok {
			fields = append(fields, f)
		}
	}
	sort.Slice(fields, func(i, j int) bool { return fields[i].number < fields[j].number })
	messages[n].fields = fields
	return n
}

// Of the options only those of a DELETE come in a body; they are the same in all groups.
func wanted(group, version, kind string) bool {
	if strings.HasSuffix(kind, "Options") {
		return group == "" && version == "v1" && kind == "DeleteOptions"
	}
	return !strings.Contains(version, "alpha") && !strings.Contains(version, "beta") && version != "__internal" &&
		!strings.HasSuffix(kind, "List") && kind != "WatchEvent"
}

func flags(f field) int {
	n := 0
	for i, set := range []bool{f.repeated, f.isMap, f.inline, f.dropsZero} {
		if set {
			n |= 1 << i
		}
	}
	return n
}

func main() {
	kinds := map[string]int{}
	var names []string
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(scheme.Scheme); err != nil {
			panic(err)
		}
	}
	all := scheme.Scheme.AllKnownTypes()
	for gvk := range all {
		if wanted(gvk.Group, gvk.Version, gvk.Kind) {
			names = append(names, gvk.Group+"/"+gvk.Version+"/"+gvk.Kind)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		p := strings.Split(name, "/")
		t := all[schema.GroupVersionKind{Group: p[0], Version: p[1], Kind: p[2]}]
		kinds[name] = messageOf(t)
	}

	text, offsets := []byte{0}, map[string]int{"": 0}
	offset := func(s string) int {
		if _, ok := offsets[s]; !ok {
			offsets[s] = len(text)
			text = append(append(text, s...), 0)
		}
		return offsets[s]
	}
	out := os.Stdout
	fmt.Fprint(out, "/* Generated by tools/kube-mod/proto-gen from the Go types of Kubernetes; do not edit. */\n\n"+
		"#include \"apiserver/core/protobuf_types.h\"\n\n/* clang-format off */\n")
	var rows, heads, kindRows []string
	for _, m := range messages {
		heads = append(heads, fmt.Sprintf("{%d,%d,%d}", len(rows), len(m.fields), m.special))
		for _, f := range m.fields {
			rows = append(rows, fmt.Sprintf("{%d,%d,%d,%d,%d}", offset(f.name), f.number, f.message, f.form, flags(f)))
		}
	}
	for _, name := range names {
		kindRows = append(kindRows, fmt.Sprintf("{%d,%d}", offset(name), kinds[name]))
	}
	table(out, "const struct proto_field proto_fields[]", rows)
	table(out, "const struct proto_message proto_messages[]", heads)
	table(out, "const struct proto_kind proto_kinds[]", kindRows)
	fmt.Fprintf(out, "const unsigned proto_kind_count = %d;\n", len(names))
	fmt.Fprint(out, "const char proto_names[] =\n")
	line := ""
	for _, s := range strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00") {
		if len(line)+len(s)+8 > 100 {
			fmt.Fprintf(out, "    \"%s\"\n", line)
			line = ""
		}
		line += s + "\\0"
	}
	fmt.Fprintf(out, "    \"%s\";\n", line)
}

func table(out *os.File, head string, rows []string) {
	fmt.Fprintf(out, "%s = {\n", head)
	line := "   "
	for _, row := range rows {
		if len(line)+len(row)+2 > 100 {
			fmt.Fprintln(out, line)
			line = "   "
		}
		line += " " + row + ","
	}
	fmt.Fprintf(out, "%s\n};\n", line)
}
