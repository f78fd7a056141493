#!/bin/bash
# PreToolUse, Bash: denies commands that cannot be undone.
input=$(cat)
command=$(echo "$input" | jq -r '.tool_input.command // empty')

for pattern in 'rm -rf /' 'rm -rf ~' 'git push --force' 'git reset --hard' 'mkfs' ':(){ :|:& };:' '> /dev/sd'; do
  if [[ "$command" == *"$pattern"* ]]; then
    echo "Blocked: the command contains '$pattern'. Find a way that can be undone." >&2
    exit 2
  fi
done

exit 0
