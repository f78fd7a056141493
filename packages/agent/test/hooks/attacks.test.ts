// Spec R-SETHOOK-2, R-SETHOOK-3, R-SETHOOK-10, R-SETHOOK-12, R-SETHOOK-14, R-SETHOOK-21: hooks that attack, and that are attacked.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { answerOf } from '../../src/hooks/hook-answer.ts'
import { hooksFor } from '../../src/hooks/call-hooks.ts'
import { hookEvents, readHooks } from '../../src/hooks/index.ts'
import type { HookEnd } from '../../src/hooks/run-command.ts'
import { verdictOf } from '../../src/hooks/verdict.ts'
import { drawn } from '../support/deep.ts'
import { bash, command, hookedRun as run, json, on, specific } from '../support/hooked-run.ts'

describe('a prompt next to output of SessionStart hooks', () => {
  test('is the only text that its hook receives, and that is erased', async () => {
    const hooks = { SessionStart: on('echo be brief'), UserPromptSubmit: on('cat > prompt.json; echo no >&2; exit 2') }
    const { engine, requests, written } = await run(hooks, [], { prompt: 'my password is hunter2' })
    expect(JSON.parse(written('prompt.json'))).toMatchObject({ prompt: 'my password is hunter2' })
    for await (const _ of engine.submit('and now'));
    expect(JSON.stringify(requests)).not.toContain('hunter2')
  })
})

const end = (stdout: unknown, exitCode = 0): HookEnd => ({
  kind: 'exited',
  exitCode,
  stdout: typeof stdout === 'string' ? stdout : JSON.stringify(stdout),
  stderr: '',
})

describe('hook output never loosens anything (spec R-SETHOOK-2)', () => {
  const pre = (fields: object) => specific('PreToolUse', fields)
  const asked = (decision: object) => specific('PermissionRequest', { decision })
  test.each([
    ['to refuse goes before to allow', 'PreToolUse', { decision: 'block', reason: 'r', ...pre({ permissionDecision: 'allow' }) }, { permission: 'deny', permissionReason: 'r' }],
    ['of a request too', 'PermissionRequest', { decision: 'block', reason: 'r', ...asked({ behavior: 'allow' }) }, { request: { behavior: 'deny', message: 'r' } }],
    ['an allowed invalid input asks about the original one', 'PreToolUse', pre({ permissionDecision: 'allow', updatedInput: 'ls' }), { permission: 'ask', error: 'updatedInput must be an object, the whole input' }],
    ['a denied one stays denied', 'PreToolUse', pre({ permissionDecision: 'deny', updatedInput: [] }), { permission: 'deny', error: 'updatedInput must be an object, the whole input' }],
    ['a request is not allowed with an invalid input', 'PermissionRequest', asked({ behavior: 'allow', updatedInput: 7 }), { error: 'decision.updatedInput must be an object, the whole input' }],
    ['half a character becomes one that can be sent', 'Stop', '{"decision":"block","reason":"a\\ud800b"}', { block: 'a\uFFFDb' }],
  ] as const)('%s', (_rule, event, stdout, answer) => {
    expect(answerOf(event, end(stdout))).toEqual(answer)
  }) // prettier-ignore

  test.each(['Stop', 'PreToolUse', 'PostToolUse', 'SessionStart'] as const)('endless JSON breaks no %s', (event) => {
    const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    const error = 'its JSON output is nested too deeply'
    expect(answerOf(event, end(deep))).toEqual({ error })
    const inner = `{"hookSpecificOutput":{"updatedToolOutput":${deep},"updatedInput":${deep}}}`
    expect(answerOf(event, end(inner))).toEqual({ error })
    expect(answerOf('PreToolUse', end(deep, 2))).toEqual({ permission: 'deny', permissionReason: '' })
  })

  test('any output yields a value, and only valid words allow', () => {
    const word = fc.constantFrom('allow', 'deny', 'ask', 'defer', 'approve', 'block', 'ALLOW', ' allow', 'allowed', 'true')
    const value = fc.oneof(word, fc.boolean(), fc.constant(null), fc.jsonValue({ maxDepth: 2 }), fc.array(word))
    const some = (...names: readonly string[]) => fc.dictionary(fc.constantFrom(...names), value)
    const inner = fc.oneof(some('hookEventName', 'permissionDecision', 'updatedInput', 'additionalContext', 'decision', 'updatedToolOutput', '__proto__'), value)
    const output = fc.tuple(some('decision', 'reason', 'continue', 'stopReason', 'systemMessage', '__proto__', 'permission', 'request'), inner)
      .map(([outer, hookSpecificOutput]) => JSON.stringify({ ...outer, hookSpecificOutput }))
    const text = fc.oneof({ weight: 5, arbitrary: output }, fc.tuple(output, fc.nat(200)).map(([all, at]) => all.slice(0, at)), fc.string({ unit: 'binary' }))
    fc.assert(
      fc.property(fc.constantFrom(...hookEvents), fc.constantFrom(0, 1, 2, 255), text, (event, code, stdout) => {
        const { permission, request } = verdictOf([answerOf(event, end(stdout, code))])
        const isAllowed = permission === 'allow' || request?.behavior === 'allow'
        expect(isAllowed && (code === 2 || !/"(?:allow|approve)"/.test(stdout))).toBe(false)
        const isRefused = /"permissionDecision":"deny"|^\{[^{[]*"decision":"block"/.test(stdout)
        expect(isRefused && permission === 'allow').toBe(false)
      }),
      { numRuns: drawn(8_000) },
    )
  })
}) // prettier-ignore

describe('which hooks are called (spec R-SETHOOK-10)', () => {
  const hooksOf = (...hooks: readonly object[]) => hooksFor(readHooks({ Stop: [{ hooks }] }).hooks, 'Stop', '')

  test.each([{ async: true }, { timeout: 0.001 }, { once: true }])('a guard with the matcher %j still guards', (more) => {
    const guard = command('guard.sh', { timeout: 60 })
    for (const both of [[guard, { ...guard, ...more }], [{ ...guard, ...more }, guard]])
      expect(hooksOf(...both)).toEqual([{ type: 'command', command: 'guard.sh', matcher: '', timeoutMs: 60_000, async: false }])
  }) // prettier-ignore

  test('one URL with other headers is another hook', () => {
    const url = 'https://a.example/'
    expect(hooksOf({ type: 'http', url }, { type: 'http', url, headers: { a: 'b' } }, { type: 'http', url })).toHaveLength(2)
  }) // prettier-ignore

  test('a hook with once is called once', async () => {
    const { shell, written } = await run({ PreToolUse: on('echo x >> calls', { once: true }) }, [bash, bash, 'end'])
    expect([written('calls'), shell.has('PreToolUse')]).toEqual(['x\n', true])
  })

  test.each(['(a+)+$', '(a|a)*$', '.*.*.*.*.*.*.*.*.*.*.*.*b', '(?:a*)*c', '^(\\w+\\s?)*$'])(
    'a matcher that would take for ever, %s, matches everything, quickly',
    (matcher) => {
      const { hooks } = readHooks({ PreToolUse: [{ matcher, hooks: [command('guard.sh')] }] })
      const begun = performance.now()
      for (let turn = 0; turn < 50; turn++) expect(hooksFor(hooks, 'PreToolUse', `${'a'.repeat(120)}!`)).toHaveLength(1)
      expect(performance.now() - begun).toBeLessThan(20_000)
    },
  )

  test.each([
    ['mcp__.*__(read|write)+$', 'mcp__db__write', true],
    ['^(Bash|Edit)*$', 'Write', false],
    ['.*a.*b.*c', 'xaxbxc', true],
  ])('a repetition, %s, is compared with %s like any other: %s', (matcher, name, fits) => {
    const { hooks } = readHooks({ PreToolUse: [{ matcher, hooks: [command('x')] }] })
    expect(hooksFor(hooks, 'PreToolUse', name)).toHaveLength(fits ? 1 : 0)
  })

  test.each(['file:///etc/passwd', 'data:application/json,{}', 'localhost:80/x', 'ftp://a/', 'http://', 'x'])(
    'rejects a URL that is not http: %s',
    (url) => {
      const { hooks, warnings } = readHooks({ Stop: [{ hooks: [{ type: 'http', url }] }] })
      expect([hooks.Stop, warnings]).toEqual([[], ['hooks: Stop[0].hooks[0]: url must be a URL that begins with http:// or https://.']])
    },
  ) // prettier-ignore
})

describe('in a run', () => {
  test('a stop before a call prevents it', async () => {
    const { reason, message, ran, requests } = await run(
      { PreToolUse: on(json({ continue: false, stopReason: 'enough', ...specific('PreToolUse', { permissionDecision: 'allow' }) })) },
      [bash],
    )
    expect([reason, message, ran, requests.length]).toEqual(['stop_requested', 'enough', [], 1])
  }) // prettier-ignore

  test('a stopping hook on a permission request denies the call, whatever else it says (spec R-SETHOOK-14)', async () => {
    const allow = specific('PermissionRequest', { decision: { behavior: 'allow' } })
    const { ran, requests, notes } = await run(
      { PermissionRequest: on(json({ continue: false, stopReason: 'enough', systemMessage: 'note', ...allow })) },
      [bash],
      { rules: { allow: [], ask: ['Bash'] } },
    )
    expect([ran, requests.length, notes]).toEqual([[], 1, ['note']])
  })

  test('reports a failure that no message of the run can report (spec R-SETHOOK-3)', async () => {
    const { notes, ran } = await run(
      {
        PermissionRequest: on('echo broken >&2; exit 1'),
        SessionEnd: on('echo gone >&2; exit 3'),
        PreToolUse: on('echo later >&2; exit 4', { async: true }),
      },
      [bash, 'end'],
      { rules: { allow: [], ask: ['Bash'] } },
    )
    expect(ran).toEqual([])
    expect(notes.toSorted()).toEqual([
      'A PermissionRequest hook failed (echo broken >&2; exit 1): exit code 1: broken.',
      'A PreToolUse hook failed (echo later >&2; exit 4): exit code 4: later.',
      'A SessionEnd hook failed (echo gone >&2; exit 3): exit code 3: gone.',
    ])
  })

  test('waits for an async hook at the end of the run, but only briefly', async () => {
    const { written } = await run({ Stop: on('sleep 0.3; echo sent > sent', { async: true }) }, ['end'])
    expect(written('sent')).toBe('sent\n')
    const begun = performance.now()
    await run({ Stop: on('sleep 60', { async: true }) }, ['end'])
    expect(performance.now() - begun).toBeLessThan(20_000)
  })
})
