// Spec R-SETHOOK-2 to R-SETHOOK-16: the rows of the conventions of hooks that semantics.test.ts and in-a-run.test.ts leave out.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ModelError } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { answerOf } from '../../src/hooks/hook-answer.ts'
import { hookEvents } from '../../src/hooks/index.ts'
import { bash, hookedRun as run, json, on, specific } from '../support/hooked-run.ts'

const save = 'cat > given.json'

describe('the input of an event', () => {
  test.each(['startup', 'resume', 'fork'] as const)('SessionStart: source %s', async (source) => {
    const { written } = await run({ SessionStart: [{ matcher: source, hooks: on(save)[0]?.hooks }] }, ['end'], { source })
    expect(JSON.parse(written('given.json'))).toMatchObject({ hook_event_name: 'SessionStart', source, model: 'scripted' })
  }) // prettier-ignore

  test('excludes hooks with a matcher for another source', async () => {
    const { cwd } = await run({ SessionStart: [{ matcher: 'resume|compact', hooks: on(save)[0]?.hooks }] }, ['end'])
    expect(existsSync(join(cwd, 'given.json'))).toBe(false)
  })

  test('StopFailure: the kind of failure and its message', async () => {
    const failure = new ModelError({ kind: 'billing_error', message: 'no credit' })
    const { written, cwd } = await run({ StopFailure: on(save), Stop: on('touch stop') }, [failure])
    const given = JSON.parse(written('given.json')) as object
    expect(given).toMatchObject({ error: 'billing_error', error_details: expect.stringContaining('no credit') as unknown })
    expect(existsSync(join(cwd, 'stop'))).toBe(false)
  }) // prettier-ignore

  test('PermissionRequest: the tool and its input', async () => {
    const { written } = await run({ PermissionRequest: on(save) }, [bash, 'end'], { rules: { allow: [] } })
    expect(JSON.parse(written('given.json'))).toEqual({
      session_id: 's1',
      transcript_path: expect.stringMatching(/s1\.jsonl$/) as unknown,
      cwd: expect.any(String) as unknown,
      permission_mode: 'default',
      hook_event_name: 'PermissionRequest',
      figures: expect.objectContaining({ left: expect.any(Object) as unknown }) as unknown,
      tool_name: 'Bash',
      tool_input: { command: 'make' },
    })
  })

  test('every command: its folder, and the calling agent', async () => {
    const names = 'CLAUDE_PROJECT_DIR HALTING_PROJECT_DIR CLAUDECODE'
    const { written, cwd } = await run(
      { Stop: on(`for n in ${names}; do printf '%s ' "\${!n}"; done > env; pwd >> env`) },
      ['end'],
    )
    expect(written('env')).toBe(`${cwd} ${cwd} 1 ${cwd}\n`)
  })
})

describe('before a call', () => {
  test("a hook's replacement of the input is checked against deny rules again, even if it allows it", async () => {
    const hook = json(specific('PreToolUse', { permissionDecision: 'allow', updatedInput: { command: 'rm -rf x' } }))
    const { ran, shown } = await run({ PreToolUse: on(hook) }, [bash, 'end'], { rules: { deny: ['Bash(rm *)'] } })
    expect([ran, shown.includes('rm')]).toEqual([[], true])
  })

  test('a replacement by a hook on a permission request is checked too', async () => {
    const decision = { behavior: 'allow', updatedInput: { command: 'rm -rf x' } }
    const hooks = { PermissionRequest: on(json(specific('PermissionRequest', { decision }))) }
    const { ran } = await run(hooks, [bash, 'end'], { rules: { allow: [], deny: ['Bash(rm *)'] } })
    expect(ran).toEqual([])
  })

  test('a hook that asks overrides an allow rule', async () => {
    const hook = json(specific('PreToolUse', { permissionDecision: 'ask' }))
    const { ran } = await run({ PreToolUse: on(hook) }, [bash, 'end'], { onAsk: 'end' })
    expect(ran).toEqual([])
  })

  test('a deny rule precedes hooks: they are not asked about denied calls', async () => {
    const { ran, cwd } = await run({ PreToolUse: on('touch asked') }, [bash, 'end'], { rules: { deny: ['Bash'] } })
    expect([ran, existsSync(join(cwd, 'asked'))]).toEqual([[], false])
  })
})

test('Stop hooks do not run after an interrupt', async () => {
  const abort = new AbortController()
  const { cwd, reason } = await run({ Stop: on('touch stop') }, [bash, 'end'], {
    signal: abort.signal,
    onEvent: ({ type }) => {
      if (type === 'tool_start') abort.abort('interrupt')
    },
  })
  // Whether the command had begun while the reply was streaming depends on which file was read first.
  expect(['aborted_streaming', 'aborted_tools']).toContain(reason)
  expect(existsSync(join(cwd, 'stop'))).toBe(false)
})

const end = (stdout: unknown, exitCode = 0, stderr = '') =>
  ({ kind: 'exited', exitCode, stdout: typeof stdout === 'string' ? stdout : JSON.stringify(stdout), stderr }) as const

describe('what a hook prints', () => {
  test.each(['UserPromptSubmit', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch', 'Stop', 'SubagentStop', 'PreCompact'] as const)(
    'decision block with a reason at %s',
    (event) => expect(answerOf(event, end({ decision: 'block', reason: 'r' }))).toEqual({ block: 'r' }),
  ) // prettier-ignore

  test.each(hookEvents)('continue, stopReason, systemMessage and suppressOutput at %s', (event) => {
    const said = { continue: false, stopReason: 'enough', systemMessage: 'note', suppressOutput: true }
    expect(answerOf(event, end(said))).toEqual({ stop: 'enough', systemMessage: 'note', suppressOutput: true })
    expect(answerOf(event, end(said, 1))).toEqual({ stop: 'enough', systemMessage: 'note', suppressOutput: true })
  })

  test.each(hookEvents.filter((event) => event !== 'UserPromptSubmit' && event !== 'SessionStart'))(
    'plain text is not context at %s',
    (event) => expect(answerOf(event, end('some words'))).toEqual({}),
  )

  test.each(['SessionStart', 'SubagentStart', 'PostToolUseFailure', 'UserPromptSubmit', 'Stop'] as const)(
    'additionalContext at %s',
    (event) => expect(answerOf(event, end(specific(event, { additionalContext: 'c' })))).toEqual({ context: 'c' }),
  )

  test('a continue other than false stops nothing', () => {
    for (const value of [true, 'false', 0, null, []]) expect(answerOf('Stop', end({ continue: value }))).toEqual({})
  })
})

test('suppressed output is omitted from the stream', async () => {
  const { lines } = await run({ Stop: on(json({ suppressOutput: true, systemMessage: 'x', secret: 'geheim' })) }, [
    'end',
  ])
  expect(lines.map(({ subtype }) => subtype)).toEqual(['hook_started', 'hook_response'])
  expect(JSON.stringify(lines)).not.toContain('geheim')
})

describe('exit code 2 where nothing can be blocked reports nothing to the model and ends nothing', () => {
  test.each(['SessionStart', 'Notification', 'SessionEnd'] as const)('%s', async (event) => {
    const { reason, shown } = await run({ [event]: on('echo no >&2; exit 2') }, ['end'])
    expect([reason, shown]).toEqual(['completed', expect.not.stringContaining('no\\n')])
  })
})
