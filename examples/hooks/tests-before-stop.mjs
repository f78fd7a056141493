#!/usr/bin/env node
// Stop: the answer is not final while the tests fail. Once only: stop_hook_active is set after it has sent the model back.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const input = JSON.parse(readFileSync(0, 'utf8'))
if (input.stop_hook_active) process.exit(0)

const command = process.env.TEST_COMMAND ?? 'npm test'
const { status, stdout, stderr } = spawnSync(command, {
  shell: true,
  cwd: process.env.CLAUDE_PROJECT_DIR,
  encoding: 'utf8',
})
if (status !== 0) {
  const last = `${stdout}${stderr}`.trim().split('\n').slice(-20).join('\n')
  console.log(JSON.stringify({ decision: 'block', reason: `${command} fails:\n${last}` }))
}
