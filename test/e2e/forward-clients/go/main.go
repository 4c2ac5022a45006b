// A program of Go's standard library, which speaks HTTP/2 through the tunnel.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := fmt.Sprintf(`{"client":"go","pan":"{{ %s | json: '$.number' }}"}`, os.Args[2])
	response, err := http.Post(os.Args[1], "application/json", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	fmt.Println(response.StatusCode, response.Proto, string(text))
}
