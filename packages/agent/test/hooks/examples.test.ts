// Spec R-SETHOOK-17: scripts as people publish them run as they are. Each row is a script of examples/hooks.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openJournal } from '@halting/journal'
import { QueryEngine } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { afterAll, expect, test } from 'vitest'
import { answerOf, type HookAnswer } from '../../src/hooks/hook-answer.ts'
import { toolResponse } from '../../src/hooks/inputs.ts'
import { HookProcesses } from '../../src/hooks/processes.ts'
import { runCommand } from '../../src/hooks/run-command.ts'
import type { HookEvent } from '../../src/hooks/settings.ts'

const folder = fileURLToPath(new URL('../../../../examples/hooks/', import.meta.url))
const cwd = mkdtempSync(join(tmpdir(), 'halting-hook-examples-'))
const path = (name: string): string => join(cwd, name)
afterAll(() => rmSync(cwd, { recursive: true, force: true }))
// No desktop notification is sent: both programs are replaced here.
mkdirSync(path('bin'))
for (const name of ['osascript', 'notify-send']) {
  writeFileSync(path(`bin/${name}`), `#!/bin/sh\necho "$@" >> ${path('notified')}\n`)
  chmodSync(path(`bin/${name}`), 0o755)
}

const transcript = path('s1.jsonl')
const has = (program: string): boolean =>
  spawnSync('bash', ['-c', `command -v ${program} && ${program} --version`]).status === 0
const missing: readonly string[] = ['jq', 'python3', 'git'].filter((program) => !has(program))

const bash = (command: string) => ({
  tool_name: 'Bash',
  tool_input: { command, description: 'a try' },
  tool_use_id: 'c1',
})
const write = (name: string) => ({
  tool_name: 'Write',
  tool_input: { file_path: path(name), content: '' },
  tool_use_id: 'c1',
})
const wrote = (name: string) => ({
  ...write(name),
  tool_response: toolResponse('Write', { file_path: path(name) }, 'ok'),
})
const file = (name: string, content: string): void => writeFileSync(path(name), content)

interface Row {
  readonly script: string
  readonly needs: readonly string[]
  readonly event: HookEvent
  readonly fields: object
  readonly answer: HookAnswer
  readonly before?: () => void
  readonly env?: Readonly<Record<string, string>>
  readonly after?: () => void
}

const rows: readonly Row[] = [
  { script: 'block-dangerous-commands.sh', needs: ['jq'], event: 'PreToolUse', fields: bash('rm -rf / --no-preserve-root'), answer: { permission: 'deny', permissionReason: "Blocked: the command contains 'rm -rf /'. Find a way that can be undone." } },
  { script: 'block-dangerous-commands.sh', needs: ['jq'], event: 'PreToolUse', fields: bash('ls -la'), answer: {} },
  { script: 'protect-files.py', needs: ['python3'], event: 'PreToolUse', fields: write('.env'), answer: { permission: 'deny', permissionReason: `Blocked: ${path('.env')} is protected (.env).` } },
  { script: 'protect-files.py', needs: ['python3'], event: 'PreToolUse', fields: write('a.ts'), answer: {} },
  { script: 'prefer-ripgrep.py', needs: ['python3'], event: 'PreToolUse', fields: bash('grep -r x .'), answer: { permission: 'deny', permissionReason: "- Use 'rg' (ripgrep) instead of 'grep': it is faster and leaves out ignored files" } },
  { script: 'dry-run-installs.mjs', needs: [], event: 'PreToolUse', fields: bash('npm install left-pad'), answer: { permission: 'ask', permissionReason: 'Installs run without the scripts of packages.', updatedInput: { command: 'npm install left-pad --ignore-scripts', description: 'a try' } } },
  { script: 'log-commands.sh', needs: ['jq'], event: 'PreToolUse', fields: bash('make all'), env: { COMMAND_LOG: path('log') }, answer: {}, after: () => expect(readFileSync(path('log'), 'utf8')).toBe('make all - a try\n') },
  { script: 'approve-safe-commands.mjs', needs: [], event: 'PermissionRequest', fields: bash('npm test'), answer: { request: { behavior: 'allow' } } },
  { script: 'approve-safe-commands.mjs', needs: [], event: 'PermissionRequest', fields: bash('npm test; rm x'), answer: {} },
  { script: 'format-on-edit.sh', needs: ['jq'], event: 'PostToolUse', before: () => file('a.txt', 'one  \ntwo\t\n'), fields: wrote('a.txt'), answer: {}, after: () => expect(readFileSync(path('a.txt'), 'utf8')).toBe('one\ntwo\n') },
  { script: 'lint-python.py', needs: ['python3'], event: 'PostToolUse', before: () => file('a.py', 'x = 1\ndef f(:\n'), fields: wrote('a.py'), answer: { block: expect.stringMatching(/a\.py:2: /) } },
  { script: 'redact-output.py', needs: ['python3'], event: 'PostToolUse', fields: { ...bash('env'), tool_response: toolResponse('Bash', {}, 'KEY=sk-abcdefgh12345678') }, answer: { output: 'KEY=sk-abcdefgh...' } },
  { script: 'git-context.sh', needs: ['git'], event: 'SessionStart', fields: { source: 'startup' }, answer: { context: 'This folder is no git repository.' } },
  { script: 'git-context.sh', needs: ['git'], event: 'UserPromptSubmit', before: () => void spawnSync('git', ['init', '-q', '-b', 'topic', cwd]), fields: { prompt: 'go' }, answer: { context: expect.stringMatching(/^Branch: topic\nUncommitted files: \d+$/) } },
  { script: 'no-secrets-in-prompts.py', needs: ['python3'], event: 'UserPromptSubmit', fields: { prompt: 'my password: hunter22' }, answer: { block: 'The prompt holds a password. Take it out and send it again.' } },
  { script: 'no-secrets-in-prompts.py', needs: ['python3'], event: 'UserPromptSubmit', fields: { prompt: 'hello' }, answer: {} },
  { script: 'tests-before-stop.mjs', needs: [], event: 'Stop', env: { TEST_COMMAND: 'echo 1 failed; false' }, fields: { stop_hook_active: false }, answer: { block: 'echo 1 failed; false fails:\n1 failed' } },
  { script: 'tests-before-stop.mjs', needs: [], event: 'Stop', env: { TEST_COMMAND: 'false' }, fields: { stop_hook_active: true }, answer: {} },
  { script: 'notify.sh', needs: ['jq'], event: 'Notification', fields: { message: 'halting needs you' }, answer: {}, after: () => expect(readFileSync(path('notified'), 'utf8')).toContain('halting needs you') },
  { script: 'summarize-transcript.sh', needs: ['jq'], event: 'Stop', env: { SESSION_LOG: path('sessions') }, fields: {}, answer: {}, after: () => expect(readFileSync(path('sessions'), 'utf8')).toBe('s1: 1 prompts, 0 tool calls, last: The answer.\n') },
] // prettier-ignore

for (const { script, needs, event, fields, answer, before, env = {}, after } of rows) {
  const without = needs.filter((program) => missing.includes(program))
  const lacking = without.length > 0 ? ` (there is no ${without.join(', ')} here)` : ''
  test.skipIf(without.length > 0)(`${script} at ${event}: ${JSON.stringify(answer)}${lacking}`, async () => {
    if (!existsSync(transcript)) await keepSession()
    before?.()
    const processes = new HookProcesses()
    const ended = await runCommand(
      {
        command: join(folder, script),
        input: JSON.stringify({
          session_id: 's1',
          transcript_path: transcript,
          cwd,
          permission_mode: 'default',
          hook_event_name: event,
          ...fields,
        }),
        cwd,
        env: { ...process.env, PATH: `${path('bin')}:${process.env['PATH']}`, CLAUDE_PROJECT_DIR: cwd, ...env },
        timeoutMs: 60_000,
        signal: new AbortController().signal,
      },
      processes,
    )
    await processes.dispose()
    expect([ended.kind, answerOf(event, ended)]).toEqual(['exited', answer])
    after?.()
  })
}

/** A session of this program: scripts read its file like that of any such agent. */
async function keepSession(): Promise<void> {
  const session = await openJournal({ path: transcript, sessionId: 's1', cwd, version: '0' })
  const engine = new QueryEngine({ model: scriptedModel(['The answer.']), session, sessionId: 's1' })
  for await (const _ of engine.submit('What is it?'));
  await session.close()
}

test('every script has its row in the README and in this table', () => {
  const scripts = readdirSync(folder).filter((name) => name !== 'README.md')
  const readme = readFileSync(join(folder, 'README.md'), 'utf8')
  expect(scripts.length).toBeGreaterThanOrEqual(10)
  for (const name of scripts) {
    expect(readme).toContain(`| \`${name}\` |`)
    expect(rows.map(({ script }) => script)).toContain(name)
  }
})
