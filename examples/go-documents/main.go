// Command documents serves documents to those who may read them, and says who may.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	magistrate "magistrate.example/clients/go"
	"magistrate.example/clients/go/magistratehttp"
)

var texts = map[string]string{
	"handbook": "How we work",
	"roadmap":  "What we build next",
}

// users maps tokens to users. Your application has a login instead.
var users = map[string]string{"token-of-bob": "user:bob", "token-of-kim": "user:kim"}

func main() {
	client, err := magistrate.New()
	if err != nil {
		log.Fatal(err)
	}
	address := "127.0.0.1:8080"
	if port := os.Getenv("PORT"); port != "" {
		address = "127.0.0.1:" + port
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listens on http://%s\n", listener.Addr())
	server := &http.Server{Handler: buildHandler(client), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}

func buildHandler(client *magistrate.Client) http.Handler {
	guard := magistratehttp.Guard{Client: client, Subject: findUser}
	mux := http.NewServeMux()
	mux.Handle("GET /documents/{id}", guard.Require("can-read", "document:{id}", http.HandlerFunc(showDocument)))
	mux.Handle("GET /documents/{id}/readers", guard.Require("can-share", "document:{id}", listReaders(client)))
	mux.Handle("GET /documents", listDocuments(client))
	return mux
}

// findUser returns the user whose token the request has.
func findUser(r *http.Request) string {
	return users[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
}

func showDocument(w http.ResponseWriter, r *http.Request) {
	text, exists := texts[r.PathValue("id")]
	if !exists {
		http.NotFound(w, r)
		return
	}
	fmt.Fprintln(w, text)
}

// listDocuments lists what the user can read.
func listDocuments(client *magistrate.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user := findUser(r)
		if user == "" {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		var documents []string
		for document, err := range client.Objects(r.Context(), user, "can-read", "document") {
			if err != nil {
				http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
				return
			}
			documents = append(documents, document)
		}
		fmt.Fprintln(w, strings.Join(documents, "\n"))
	}
}

// listReaders lists who can read a document.
func listReaders(client *magistrate.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		document := magistrate.Ref{Type: "document", ID: r.PathValue("id")}
		var readers []string
		for reader, err := range client.Subjects(r.Context(), document.String(), "can-read", "user") {
			if err != nil {
				http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
				return
			}
			readers = append(readers, reader)
		}
		fmt.Fprintln(w, strings.Join(readers, "\n"))
	}
}
