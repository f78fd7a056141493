// Spec R-SETHOOK-1 to R-SETHOOK-6: what hooks of the settings mean, one row a rule.
import { describe, expect, test } from 'vitest'
import { answerOf, type HookAnswer } from '../../src/hooks/hook-answer.ts'
import { hooksFor } from '../../src/hooks/call-hooks.ts'
import { toolResponse } from '../../src/hooks/inputs.ts'
import type { HookEnd } from '../../src/hooks/run-command.ts'
import { matches } from '../../src/hooks/matcher.ts'
import { hookEvents, readHooks, type HookEvent } from '../../src/hooks/settings.ts'
import { verdictOf } from '../../src/hooks/verdict.ts'

const end = (exitCode: number, stdout: unknown = '', stderr = ''): HookEnd => ({
  kind: 'exited',
  exitCode,
  stdout: typeof stdout === 'string' ? stdout : JSON.stringify(stdout),
  stderr,
})
const specific = (hookEventName: HookEvent, fields: object) => ({ hookSpecificOutput: { hookEventName, ...fields } })
const pre = (fields: object) => specific('PreToolUse', fields)

const rows: readonly (readonly [rule: string, event: HookEvent, ended: HookEnd, answer: HookAnswer])[] = [
  ['exit 0 without output is fine', 'PreToolUse', end(0), {}],
  ['plain stdout of exit 0 says nothing', 'PreToolUse', end(0, 'looked at it'), {}],
  ['plain stdout is context for a prompt', 'UserPromptSubmit', end(0, 'branch main\n'), { context: 'branch main' }],
  ['plain stdout is context at the start', 'SessionStart', end(0, 'hello'), { context: 'hello' }],
  ['exit 2 denies a call, stderr is why', 'PreToolUse', end(2, '', 'no rm\n'), { permission: 'deny', permissionReason: 'no rm' }],
  ['exit 2 denies a call without a reason too', 'PreToolUse', end(2), { permission: 'deny', permissionReason: '' }],
  ['exit 2 denies whatever JSON says', 'PreToolUse', end(2, pre({ permissionDecision: 'allow', updatedInput: { a: 1 } }), 'no'), { permission: 'deny', permissionReason: 'no' }],
  ['exit 2 takes the reason of JSON where stderr has none', 'Stop', end(2, { decision: 'block', reason: 'run the tests' }), { block: 'run the tests' }],
  ['exit 2 erases a prompt', 'UserPromptSubmit', end(2, '', 'a secret'), { block: 'a secret' }],
  ['exit 2 sends the model back', 'Stop', end(2, '', 'tests fail'), { block: 'tests fail' }],
  ['exit 2 sends a subagent back', 'SubagentStop', end(2, '', 'tests fail'), { block: 'tests fail' }],
  ['exit 2 after a tool notifies the model', 'PostToolUse', end(2, '', 'lint'), { block: 'lint' }],
  ['exit 2 skips a compaction', 'PreCompact', end(2, '', 'later'), { block: 'later' }],
  ['exit 2 denies what is asked about', 'PermissionRequest', end(2, '', 'never'), { request: { behavior: 'deny', message: 'never' } }],
  ['another exit code is an error that decides nothing', 'PreToolUse', end(1, '', 'crash'), { error: 'exit code 1: crash' }],
  ['another exit code is no error if stdout is JSON', 'PreToolUse', end(1, pre({ permissionDecision: 'deny', permissionDecisionReason: 'r' })), { permission: 'deny', permissionReason: 'r' }],
  ['half a JSON is an error that decides nothing', 'PreToolUse', end(0, '{"decision":"bl'), { error: 'its output starts like JSON but is not valid JSON' }],
  ['JSON may stand behind blanks', 'Stop', end(0, '\n  {"decision":"block","reason":"r"}'), { block: 'r' }],
  ['allow', 'PreToolUse', end(0, pre({ permissionDecision: 'allow' })), { permission: 'allow' }],
  ['ask', 'PreToolUse', end(0, pre({ permissionDecision: 'ask', permissionDecisionReason: 'look' })), { permission: 'ask', permissionReason: 'look' }],
  ['defer', 'PreToolUse', end(0, pre({ permissionDecision: 'defer' })), { permission: 'defer' }],
  ['an invalid permission asks', 'PreToolUse', end(0, pre({ permissionDecision: 'maybe' })), { permission: 'ask', error: 'permissionDecision must be allow, deny, ask or defer' }],
  ['the older word for deny', 'PreToolUse', end(0, { decision: 'block', reason: 'r' }), { permission: 'deny', permissionReason: 'r' }],
  ['the older word for allow', 'PreToolUse', end(0, { decision: 'approve' }), { permission: 'allow', permissionReason: '' }],
  ['updatedInput replaces the whole input', 'PreToolUse', end(0, pre({ updatedInput: { command: 'ls' } })), { updatedInput: { command: 'ls' } }],
  ['additionalContext before a tool', 'PreToolUse', end(0, pre({ additionalContext: 'c' })), { context: 'c' }],
  ['additionalContext after a tool', 'PostToolUse', end(0, specific('PostToolUse', { additionalContext: 'c' })), { context: 'c' }],
  ['additionalContext at the end of an answer', 'Stop', end(0, specific('Stop', { additionalContext: 'c' })), { context: 'c' }],
  ['additionalContext for a prompt', 'UserPromptSubmit', end(0, specific('UserPromptSubmit', { additionalContext: 'c' })), { context: 'c' }],
  ['updatedToolOutput as text', 'PostToolUse', end(0, specific('PostToolUse', { updatedToolOutput: 'x' })), { output: 'x' }],
  ['updatedToolOutput as JSON', 'PostToolUse', end(0, specific('PostToolUse', { updatedToolOutput: { a: 1 } })), { output: '{"a":1}' }],
  ['updatedToolOutput is for PostToolUse alone', 'PreToolUse', end(0, pre({ updatedToolOutput: 'x' })), {}],
  ['what is of another event counts for nothing', 'PostToolUse', end(0, pre({ permissionDecision: 'deny' })), { error: 'hookSpecificOutput is of "PreToolUse", and this is PostToolUse' }],
  ['continue false stops the run', 'PostToolUse', end(0, { continue: false, stopReason: 'enough' }), { stop: 'enough' }],
  ['systemMessage is for the person', 'Stop', end(0, { systemMessage: 'by the way' }), { systemMessage: 'by the way' }],
  ['a request is allowed, with another input', 'PermissionRequest', end(0, specific('PermissionRequest', { decision: { behavior: 'allow', updatedInput: { a: 1 } } })), { request: { behavior: 'allow', updatedInput: { a: 1 } } }],
  ['a request is denied, and the run interrupted', 'PermissionRequest', end(0, specific('PermissionRequest', { decision: { behavior: 'deny', message: 'no', interrupt: true } })), { request: { behavior: 'deny', message: 'no', interrupt: true } }],
  ['a request is answered by nothing else', 'PermissionRequest', end(0, specific('PermissionRequest', { decision: { behavior: 'yes' } })), { error: 'decision.behavior must be allow or deny' }],
  ['an approval with an unknown field is invalid', 'PermissionRequest', end(0, specific('PermissionRequest', { decision: { behavior: 'allow', input: { a: 1 } } })), { error: 'decision has the field input: another input is updatedInput' }],
  ['a timeout decides nothing', 'PreToolUse', { ...end(2, '', 'no'), kind: 'timed out' }, { error: 'it timed out' }],
  ['a signal decides nothing', 'PreToolUse', { ...end(0, '', 'ended by SIGSEGV'), kind: 'killed' }, { error: 'killed: ended by SIGSEGV' }],
  ['a list is no JSON of a hook', 'Stop', end(0, '["block"]'), {}],
] // prettier-ignore

test.each(rows)('%s (%s)', (_rule, event, ended, answer) => {
  expect(answerOf(event, ended)).toEqual(answer)
})

test('context from one hook for the model is truncated at 10,000 characters', () => {
  const long = 'x'.repeat(30_000)
  const shown = [
    answerOf('SessionStart', end(0, long)).context,
    answerOf('PreToolUse', end(0, pre({ additionalContext: long }))).context,
    answerOf('Stop', end(2, '', long)).block,
  ]
  expect(shown.map((text) => text?.length)).toEqual([10_000, 10_000, 10_000])
})

describe('the results of several hooks', () => {
  test.each([
    [['allow', 'ask', 'defer', 'deny'], 'deny'],
    [['allow', 'ask', 'defer'], 'defer'],
    [['allow', 'ask'], 'ask'],
    [['allow'], 'allow'],
  ] as const)('%s yields %s', (given, expected) => {
    for (const order of [given, given.toReversed()])
      expect(verdictOf(order.map((permission) => ({ permission, permissionReason: permission })))).toMatchObject({
        permission: expected,
        permissionReason: expected,
      })
  })

  test('blocks are joined, the last input and output apply, and a denied request stays denied', () => {
    const answers: readonly HookAnswer[] = [
      { block: 'one', updatedInput: { a: 1 }, output: 'first', request: { behavior: 'allow' } },
      { block: '', context: 'c' },
      { block: 'two', updatedInput: { a: 2 }, output: 'second', request: { behavior: 'deny' }, stop: 's' },
    ]
    expect(verdictOf(answers)).toEqual({
      block: 'one\ntwo',
      permissionReason: '',
      updatedInput: { a: 2 },
      output: 'second',
      contexts: ['c'],
      stop: 's',
      request: { behavior: 'deny' },
      notes: [],
    })
  })
})

test.each([
  ['', 'Bash', true],
  ['*', 'Bash', true],
  ['Bash', 'Bash', true],
  ['Bash', 'BashOutput', false],
  ['Write|Edit', 'Edit', true],
  ['Write, Edit', 'Edit', true],
  ['Write|Edit', 'NotebookEdit', false],
  ['bash', 'Bash', false],
  ['mcp__.*', 'mcp__db__query', true],
  ['mcp__.*__write.*', 'mcp__db__write_row', true],
  ['Edit.*', 'NotebookEdit', true],
  ['^Edit$', 'NotebookEdit', false],
])('the matcher %j and the name %s: %s', (matcher, name, expected) => {
  expect(matches(matcher, name)).toBe(expected)
})

describe('settings', () => {
  const hook = { type: 'command', command: 'true' }

  test('have default timeouts per event, and timeouts of their own', () => {
    const all = Object.fromEntries(hookEvents.map((event) => [event, [{ hooks: [hook, { ...hook, timeout: 7 }] }]]))
    const { hooks, warnings } = readHooks(all)
    expect(warnings).toEqual([])
    for (const event of hookEvents) {
      const own = { UserPromptSubmit: 30_000, SessionEnd: 1_500 }[event as string] ?? 600_000
      expect([event, hooks[event]?.map(({ timeoutMs }) => timeoutMs)]).toEqual([event, [own, 7_000]])
    }
  })

  test('call identical hooks once, in order', () => {
    const { hooks } = readHooks({
      PreToolUse: [
        { matcher: 'Bash', hooks: [hook, { type: 'command', command: 'date' }] },
        { hooks: [{ type: 'http', url: 'http://localhost/a' }, hook] },
        { matcher: 'Write', hooks: [{ type: 'command', command: 'never' }] },
      ],
    })
    const called = hooksFor(hooks, 'PreToolUse', 'Bash').map((found) =>
      'command' in found ? found.command : found.type,
    )
    expect(called).toEqual(['true', 'date', 'http'])
  })

  test('R-WAIT-15: hooks for Bash see a command of Wait', () => {
    const { hooks } = readHooks({ PreToolUse: [{ matcher: 'Bash', hooks: [hook] }] })
    const called = (name: string, input: unknown): number => hooksFor(hooks, 'PreToolUse', name, input).length
    expect([
      called('Wait', { command: 'ls' }),
      called('Wait', { seconds: 1 }),
      called('Read', { command: 'ls' }),
    ]).toEqual([1, 0, 0])
  })

  test.each([
    [{ Nope: [] }, 'hooks: unknown event Nope; its hooks are ignored.'],
    [
      { preToolUs: [] },
      'hooks: unknown event preToolUs; its hooks are ignored. Did you mean PreToolUse?',
    ],
    ['on', 'hooks: must be an object with lists by event. No hook is used.'],
    [{ Stop: {} }, 'hooks: Stop must be a list of {"matcher", "hooks"}.'],
    [{ Stop: [{ hooks: 'x' }] }, 'hooks: Stop[0] takes {"matcher": text, "hooks": list}.'],
    [{ Stop: [{ hooks: [{ type: 'command' }] }] }, 'hooks: Stop[0].hooks[0]: command must be a string.'],
    [{ Stop: [{ hooks: [{ type: 'agent' }] }] }, 'hooks: Stop[0].hooks[0]: unknown type "agent". Use command, http or prompt.'],
    [{ Stop: [{ hooks: [{ ...hook, timeout: 'soon' }] }] }, 'hooks: Stop[0].hooks[0]: timeout must be a number of seconds above 0.'],
  ])('reports %j', (given, warning) => {
    const { hooks, warnings } = readHooks(given)
    expect([warnings, Object.values(hooks).flat()]).toEqual([[warning], []])
  }) // prettier-ignore

  test('treat an invalid regular expression as matching everything, so that a guard still guards', () => {
    const { hooks, warnings } = readHooks({ PreToolUse: [{ matcher: 'Ba(sh', hooks: [hook] }] })
    expect(warnings[0]).toContain('so it matches every tool')
    expect(hooksFor(hooks, 'PreToolUse', 'Write')).toHaveLength(1)
  })

  test('never break the parser', () => {
    const strange = [
      null,
      1,
      'x',
      [],
      [[]],
      {},
      { hooks: null },
      { hooks: [null, 1, [], {}] },
      { matcher: 1, hooks: [] },
    ]
    for (const value of strange)
      for (const event of ['Stop', '__proto__', 'constructor'])
        expect(() => readHooks(JSON.parse(`{${JSON.stringify(event)}:[${JSON.stringify(value)}]}`))).not.toThrow()
  })
})

test('no output of a hook breaks the parser', () => {
  const strange = ['{}', '{"continue":"no"}', '{"hookSpecificOutput":[]}', '{"decision":{}}', '{"systemMessage":1}', '{"__proto__":{"a":1}}', '\u0000{', '{"hookSpecificOutput":{"permissionDecision":{}}}', '[', 'null', '{"reason":null,"decision":"block"}']
  for (const event of hookEvents) for (const code of [0, 1, 2]) for (const text of strange)
    expect(() => verdictOf([answerOf(event, end(code, text))])).not.toThrow()
}) // prettier-ignore

test('a result has the fields that scripts expect', () => {
  const input = { file_path: '/a/b.ts', command: 'ls' }
  expect(['Bash', 'Wait', 'Write', 'Edit', 'Read', 'Grep'].map((name) => toolResponse(name, input, 'T'))).toEqual([
    { stdout: 'T', stderr: '', interrupted: false, isImage: false },
    { stdout: 'T', stderr: '', interrupted: false, isImage: false },
    { filePath: '/a/b.ts', success: true, text: 'T' },
    { filePath: '/a/b.ts', success: true, text: 'T' },
    { type: 'text', file: { filePath: '/a/b.ts', content: 'T' } },
    'T',
  ])
  expect(toolResponse('Wait', { seconds: 1 }, 'T')).toBe('T')
})
