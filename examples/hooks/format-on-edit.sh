#!/usr/bin/env bash
# PostToolUse, Edit|Write: formats the written file with the project's formatter.
set -euo pipefail
file=$(jq -r '.tool_input.file_path // .tool_response.filePath // empty')
[ -n "$file" ] && [ -f "$file" ] || exit 0

case "$file" in
  *.ts | *.tsx | *.js | *.jsx | *.json | *.md)
    if [ -x "$CLAUDE_PROJECT_DIR/node_modules/.bin/prettier" ]; then
      "$CLAUDE_PROJECT_DIR/node_modules/.bin/prettier" --write "$file" >/dev/null
    fi
    ;;
  *.go) command -v gofmt >/dev/null && gofmt -w "$file" ;;
  *.py) command -v black >/dev/null && black -q "$file" ;;
esac
# With any formatter: remove blanks at the ends of lines.
sed -i.bak -e 's/[[:space:]]*$//' "$file" && rm -f "$file.bak"
