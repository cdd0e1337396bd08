// Prints how Go lays out the API's types, for tools/schema-gen: of every struct its fields in order, with the JSON name, the type
// as Go's decoder names it in errors, whether it is a pointer, and when the encoder leaves it out.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

type field struct {
	Name    string `json:"name"`
	Go      string `json:"go"`
	Pointer bool   `json:"pointer,omitempty"`
	Omit    string `json:"omit,omitempty"` // "empty" or "zero"
	Via     string `json:"via,omitempty"`  // the embedded struct that it stands in
}

var found = map[string][]field{}

func fieldsOf(t reflect.Type) []field {
	var list []field
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		walk(f.Type)
		if f.Anonymous && tag == "" {
			inner := f.Type
			for inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				for _, one := range fieldsOf(inner) {
					one.Via = strings.TrimSuffix(f.Name+"."+one.Via, ".")
					list = append(list, one)
				}
			}
			continue
		}
		if tag == "-" || !f.IsExported() {
			continue
		}
		inner, pointer := f.Type, f.Type.Kind() == reflect.Pointer
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		omit := ""
		if strings.Contains(options, "omitzero") {
			omit = "zero"
		} else if strings.Contains(options, "omitempty") {
			omit = "empty"
		}
		list = append(list, field{tag, inner.String(), pointer, omit, ""})
	}
	return list
}

func walk(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		walk(t.Elem())
	case reflect.Struct:
		name := t.PkgPath() + "." + t.Name()
		if _, done := found[name]; done || !strings.HasPrefix(t.PkgPath(), "k8s.io/") {
			return
		}
		found[name] = nil
		found[name] = fieldsOf(t)
	}
}

func main() {
	if err := apiextensions.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	for kind, t := range scheme.Scheme.AllKnownTypes() {
		if !strings.Contains(kind.Version, "alpha") && !strings.Contains(kind.Version, "beta") {
			walk(t)
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(found); err != nil {
		panic(err)
	}
}
