import { type Project, rowsOf } from './project.ts'

const script = `
  mkdir -p sums cmd/tool
  printf 'module example.org/sample\\n\\ngo 1.18\\n' > go.mod
  printf 'package sums\\n\\n// Add adds.\\nfunc Add(a, b int) int { return a + b }\\n' > sums/sums.go
  printf 'package sums\\n\\nimport (\\n\\t"net"\\n\\t"os"\\n\\t"testing"\\n)\\n\\nfunc TestAdd(t *testing.T) {\\n\\tif Add(1, 2) != 3 {\\n\\t\\tt.Fatal()\\n\\t}\\n}\\n\\nfunc TestListen(t *testing.T) {\\n\\tl, err := net.Listen("tcp", "127.0.0.1:0")\\n\\tif err != nil {\\n\\t\\tt.Fatal(err)\\n\\t}\\n\\tl.Close()\\n}\\n\\nfunc TestFiles(t *testing.T) {\\n\\tif os.WriteFile(t.TempDir()+"/a", nil, 0o600) != nil {\\n\\t\\tt.Fatal()\\n\\t}\\n}\\n\\nfunc BenchmarkAdd(b *testing.B) {\\n\\tfor i := 0; i < b.N; i++ {\\n\\t\\tAdd(i, i)\\n\\t}\\n}\\n' > sums/sums_test.go
  printf 'package main\\n\\nimport (\\n\\t"fmt"\\n\\n\\t"example.org/sample/sums"\\n)\\n\\n//go:generate go run ../tool -write\\nfunc main() { fmt.Println(sums.Add(1, 2)) }\\n' > cmd/tool/main.go
  printf 'package sums\\nfunc  bad( ) {  }\\n' > sums/bad.go
  printf 'go get golang.org/x/text@latest\\n' > get.sh
  printf '/tool\\n*.test\\ncover.out\\n' > .gitignore
  git init -q --template=; git add -A; git commit -qm first
  export GOCACHE=$HOME/.cache/go-build; go build ./...; go test ./... > /dev/null`

export const goProject: Project = {
  name: 'go',
  needs: ['go', 'git'],
  script,
  rows: [
    ...rowsOf(
      `
      go build ./...
      go build -o tool ./cmd/tool && ./tool
      go test ./...
      go test -v -run TestAdd ./sums
      go test -count=1 ./...
      go test -coverprofile=cover.out ./sums && go tool cover -func=cover.out
      go vet ./...
      gofmt -l .
      gofmt -w . && git diff --stat
      go fmt ./... && git status --short
      go run ./cmd/tool
      go generate ./...
      go list ./...
      go list -m
      go mod tidy && git status --short
      go mod verify
      go mod graph
      go doc ./sums
      go version
      go env GOOS GOARCH GOPATH GOCACHE GOFLAGS
      go test -c ./sums && ls *.test
      go clean && ls
      go env -json GOROOT | head -2`,
      { mask: /\d+(?:\.\d+)? ns\/op|coverage: .*? of|in \d+\.\d+s|\t\d+\.\d+s/g },
    ),
    { command: 'go test -bench=. -benchtime=10x -run=NONE ./sums', mask: /\t.*|cpu: .*/g },
    { command: 'sh get.sh', differs: 'no network', reaches: true },
    { command: 'go get golang.org/x/text@latest', asks: true },
    { command: 'go install golang.org/x/tools/cmd/goimports@latest', asks: true },
    { command: 'git push', asks: true },
  ],
}
