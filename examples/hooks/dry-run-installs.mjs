#!/usr/bin/env node
// PreToolUse, Bash: npm install runs no scripts of packages.
import { readFileSync } from 'node:fs'

const { tool_input: input } = JSON.parse(readFileSync(0, 'utf8'))
if (/^npm (ci|i|install)\b/.test(input.command) && !input.command.includes('--ignore-scripts')) {
  console.log(
    JSON.stringify({
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'ask',
        permissionDecisionReason: 'Installs run without the scripts of packages.',
        updatedInput: { ...input, command: `${input.command} --ignore-scripts` },
      },
    }),
  )
}
