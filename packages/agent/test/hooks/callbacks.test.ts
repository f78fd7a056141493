// Spec R-SETHOOK-24, R-SETHOOK-24a: hooks that are functions, of a host or a program.
import type { JsonObject } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { readCallbackHooks, readHooks, ShellHooks, type CallHook, type HookLine } from '../../src/hooks/index.ts'
import { callHooks, type Callers } from '../../src/hooks/call-hooks.ts'
import { HookProcesses } from '../../src/hooks/processes.ts'
import { joinedHooks, type HookEvent, type ShellHookTable } from '../../src/hooks/settings.ts'

function callersOf(hooks: ShellHookTable): { readonly callers: Callers; readonly lines: HookLine[] } {
  const lines: HookLine[] = []
  const callers: Callers = {
    hooks,
    cwd: process.cwd(),
    env: process.env,
    processes: new HookProcesses(),
    emit: (line) => void lines.push(line),
    called: () => undefined,
    runInBackground: () => undefined,
    over: new AbortController().signal,
    finishedOnce: new Set(),
  }
  return { callers, lines }
}

async function asked(event: HookEvent, groups: object, call: CallHook, signal = new AbortController().signal) {
  const { hooks, warnings } = readCallbackHooks({ [event]: [groups] }, call)
  expect(warnings).toEqual([])
  const { callers, lines } = callersOf(hooks)
  const input: JsonObject = { hook_event_name: event, tool_name: 'Bash' }
  const verdict = await callHooks({ event, about: 'Bash', input, source: { signal } }, callers)
  return { verdict, outcome: lines.flatMap((line) => (line.subtype === 'hook_response' ? [line.outcome] : [])) }
}

const one = { hookCallbackIds: ['hook_0'] }
const guard = { ...one, onFailure: 'block' }

describe('the answer of a function is read like the output of a command', () => {
  test('with the input of the event, and by the same rules for JSON', async () => {
    const seen: unknown[] = []
    const { verdict, outcome } = await asked('PreToolUse', { ...one, matcher: 'Bash' }, async (id, input) => {
      seen.push([id, input])
      return {
        hookSpecificOutput: {
          hookEventName: 'PreToolUse',
          permissionDecision: 'deny',
          permissionDecisionReason: 'not here',
        },
      }
    })
    expect([seen, verdict?.permission, verdict?.permissionReason, outcome]).toEqual([
      [['hook_0', { hook_event_name: 'PreToolUse', tool_name: 'Bash' }]],
      'deny',
      'not here',
      ['success'],
    ])
  })

  test.each([
    ['nothing', {}],
    ['undefined', undefined],
    ['that nobody is to wait', { async: true }],
  ])('%s decides nothing', async (_what, answer) => {
    const { verdict } = await asked('UserPromptSubmit', one, async () => answer)
    expect(verdict).toEqual({ permissionReason: '', contexts: [], notes: [] })
  })

  test('calls only matching ones, and one per id', async () => {
    const ids: string[] = []
    const { hooks } = readCallbackHooks(
      {
        PreToolUse: [{ matcher: 'Write', hookCallbackIds: ['a'] }, { hookCallbackIds: ['b', 'b', 'c'] }],
      },
      async (id) => void ids.push(id),
    )
    const { callers } = callersOf(hooks)
    const source = { signal: new AbortController().signal }
    await callHooks({ event: 'PreToolUse', about: 'Bash', input: {}, source }, callers)
    expect(ids).toEqual(['b', 'c'])
  })
})

describe('a failure', () => {
  const failures: readonly (readonly [string, CallHook, string])[] = [
    ['an error', async () => Promise.reject(new Error('boom')), 'boom'],
    ['a throw', () => { throw new Error('boom') }, 'boom'],
    ['an answer that is not an object', async () => 'yes', 'its answer is not an object'],
    ['an answer that cannot be read', async () => ({ hookSpecificOutput: 7 }), 'hookSpecificOutput must be an object'],
  ] // prettier-ignore

  test.each(failures)('of %s decides nothing, and is reported', async (_what, call, words) => {
    const { verdict, outcome } = await asked('PreToolUse', one, call)
    expect([verdict?.permission, verdict?.notes, outcome]).toEqual([
      undefined,
      [`A PreToolUse hook failed (hook_0): ${words}.`],
      ['error'],
    ])
  })

  test.each(failures)('of %s in a guard blocks', async (_what, call, words) => {
    const { verdict } = await asked('PreToolUse', guard, call)
    expect([verdict?.permission, verdict?.permissionReason]).toEqual(['deny', `A hook failed: ${words}`])
    expect((await asked('UserPromptSubmit', guard, call)).verdict?.block).toBe(`A hook failed: ${words}`)
    expect((await asked('PermissionRequest', guard, call)).verdict?.request?.behavior).toBe('deny')
    // A broken guard must not send back an existing answer for ever.
    expect((await asked('Stop', guard, call)).verdict?.block).toBeUndefined()
  })

  test('of a function that never answers ends at its timeout, with an aborted signal', async () => {
    let left = false
    const silent: CallHook = (_id, _input, signal) =>
      new Promise(() => signal.addEventListener('abort', () => void (left = true)))
    const { verdict, outcome } = await asked('PreToolUse', { ...one, timeout: 0.05 }, silent)
    expect([verdict?.permission, verdict?.notes, outcome, left]).toEqual([
      undefined,
      ['A PreToolUse hook failed (hook_0): it timed out.'],
      ['cancelled'],
      true,
    ])
    expect((await asked('PreToolUse', { ...guard, timeout: 0.05 }, silent)).verdict?.permission).toBe('deny')
  })

  test('of a function called during an abort of the run is ignored', async () => {
    const abort = new AbortController()
    const { verdict } = await asked(
      'PreToolUse',
      one,
      () => {
        abort.abort()
        return new Promise(() => undefined)
      },
      abort.signal,
    )
    expect(verdict).toEqual({ permissionReason: '', contexts: [], notes: [] })
  })
})

test('reports invalid entries, and calls the rest', () => {
  const { hooks, warnings } = readCallbackHooks(
    {
      PreToolUse: [{ matcher: 7, hookCallbackIds: ['a'] }, { hookCallbackIds: 'b' }, { hookCallbackIds: ['c'], timeout: -1 }, null],
      WorktreeCreate: [],
      Stop: {},
    },
    async () => undefined,
  ) // prettier-ignore
  expect(hooks.PreToolUse?.map((hook) => [hook.type === 'callback' && hook.id, hook.timeoutMs])).toEqual([
    ['c', 600_000],
  ])
  expect(warnings).toEqual([
    'hooks: PreToolUse[0] must be {"matcher": string, "hookCallbackIds": strings}. Its hooks are ignored.',
    'hooks: PreToolUse[1] must be {"matcher": string, "hookCallbackIds": strings}. Its hooks are ignored.',
    'hooks: PreToolUse[2]: timeout must be a number of seconds above 0; the default is used.',
    'hooks: PreToolUse[3] must be {"matcher": string, "hookCallbackIds": strings}. Its hooks are ignored.',
    'hooks: unknown event WorktreeCreate; its hooks are ignored.',
    'hooks: Stop must be a list of {"matcher", "hookCallbackIds"}.',
  ])
})

test('puts functions after the hooks of settings in one table', async () => {
  const { hooks: written } = readHooks({
    PostToolUse: [
      { matcher: '', hooks: [{ type: 'command', command: `echo '{"hookSpecificOutput":{"updatedToolOutput":"1"}}'` }] },
    ],
  })
  const { hooks: given } = readCallbackHooks({ PostToolUse: [one], Stop: [one] }, async () => ({
    hookSpecificOutput: { updatedToolOutput: '2' },
  }))
  const hooks = joinedHooks([written, given])
  const { callers } = callersOf(hooks)
  const source = { signal: new AbortController().signal }
  const verdict = await callHooks({ event: 'PostToolUse', about: 'Bash', input: {}, source }, callers)
  // Of several replacements by hooks the last one counts.
  expect(verdict?.output).toBe('2')
  const shell = new ShellHooks({
    hooks,
    sessionId: 's',
    transcriptPath: 't',
    cwd: process.cwd(),
    env: {},
    permissionMode: () => 'default',
    model: 'm',
    source: 'startup',
  })
  expect([shell.hooks.length, shell.stopHooks.length]).toEqual([1, 1])
  await shell.end('other')
})
