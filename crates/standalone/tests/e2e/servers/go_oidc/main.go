// As the example of https://pkg.go.dev/github.com/coreos/go-oidc has it.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
)

func main() {
	ctx := context.Background()
	provider, err := oidc.NewProvider(ctx, os.Getenv("HOLDFAST"))
	if err != nil {
		log.Fatal(err)
	}
	config := oauth2.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		Endpoint:     provider.Endpoint(),
		RedirectURL:  os.Getenv("BASE_URL") + "/callback",
		Scopes:       []string{oidc.ScopeOpenID, "profile", "email"},
	}
	settings := oidc.Config{ClientID: config.ClientID}
	if algorithm := os.Getenv("ALGORITHM"); algorithm != oidc.RS256 {
		settings.SupportedSigningAlgs = []string{algorithm}
	}
	verifier := provider.Verifier(&settings)

	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "state", Value: "a random state"})
		http.Redirect(w, r, config.AuthCodeURL("a random state"), http.StatusFound)
	})
	http.HandleFunc("/callback", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("state") != "a random state" {
			http.Error(w, "state did not match", http.StatusBadRequest)
			return
		}
		token, err := config.Exchange(ctx, r.URL.Query().Get("code"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		raw, _ := token.Extra("id_token").(string)
		idToken, err := verifier.Verify(ctx, raw)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if err := idToken.VerifyAccessToken(token.AccessToken); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		user, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		json.NewEncoder(w).Encode(user)
	})
	log.Fatal(http.ListenAndServe(os.Getenv("LISTEN"), nil))
}
