#!/usr/bin/env node
// PermissionRequest, Bash: allows read-only commands, and leaves the rest to rules and people.
import { stdin, stdout } from 'node:process'

let text = ''
for await (const chunk of stdin) text += chunk
const { tool_input: input } = JSON.parse(text)

if (/^(npm (test|run lint)|make -n\b|python3? --version)/.test(input.command) && !/[;&|`$><]/.test(input.command)) {
  const decision = { behavior: 'allow' }
  stdout.write(JSON.stringify({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } }))
}
