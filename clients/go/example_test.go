package magistrate_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	magistrate "magistrate.example/clients/go"
)

// Each example is about the data of `magistrate serve --example document-sharing`. service_test.go runs them.

func ExampleClient_Check() {
	client, err := magistrate.New() // MAGISTRATE_URL, MAGISTRATE_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	allowed, err := client.Check(context.Background(), "user:bob", "can-read", "document:roadmap")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(allowed)
	// prints: true
}

func ExampleClient_CheckMany() {
	client, err := magistrate.New()
	if err != nil {
		log.Fatal(err)
	}
	results, err := client.CheckMany(context.Background(), []magistrate.Check{
		{Subject: "user:bob", Relation: "can-read", Object: "document:roadmap"},
		{Subject: "user:kim", Relation: "can-read", Object: "document:roadmap"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(results)
	// prints: [true false]
}

func ExampleClient_Require() {
	client, err := magistrate.New()
	if err != nil {
		log.Fatal(err)
	}
	err = client.Require(
		context.Background(), "user:kim", "can-read", "document:roadmap", magistrate.WithExplanation())
	var denied *magistrate.DeniedError
	if errors.As(err, &denied) {
		fmt.Println(denied.Reason())
	}
	// prints: user:kim is not can-read of document:roadmap; delete document:roadmap#blocked@user:kim would allow it
}

func ExampleClient_Objects() {
	client, err := magistrate.New()
	if err != nil {
		log.Fatal(err)
	}
	for object, err := range client.Objects(context.Background(), "user:bob", "can-read", "document") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(object)
	}
	// prints: document:handbook
	// document:roadmap
}

func ExampleClient_Write() {
	client, err := magistrate.New()
	if err != nil {
		log.Fatal(err)
	}
	result, err := client.Write(context.Background(),
		magistrate.IfAbsent("document:minutes"),
		magistrate.Create("document:minutes#owner@user:ann", "document:minutes#parent@folder:company"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Created)
	_, err = client.Write(context.Background(), magistrate.IfAbsent("document:minutes"), magistrate.Create("document:minutes"))
	fmt.Println(errors.Is(err, magistrate.ErrPreconditionFailed))
	// prints: 2
	// true
}

func ExampleClient_Watch() {
	client, err := magistrate.New()
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range client.Watch(context.Background(), magistrate.WatchQuery{Snapshot: true, Relations: []string{"blocked"}}) {
		if err != nil {
			log.Fatal(err)
		}
		if event.Type == magistrate.Snapshot {
			fmt.Println(event.State.Warrants[0])
			break
		}
	}
	// prints: document:roadmap#blocked@user:kim
}
