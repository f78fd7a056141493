// Holds R-PERM-13c and R-PERM-13d of docs/spec: the rules of the coding agent, and hooks, for tools that have a person asked.
import { run, tool, type AnyTool, type Permissions, type RunOutcome } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { createPermissions, type PermissionOptions } from '@halting/policy'
import { beforeEach, describe, expect, test } from 'vitest'
import { readHooks, ShellHooks } from '../src/hooks/index.ts'
import { temporaryFolder } from './support/harness.ts'

let cwd = ''
beforeEach(() => {
  cwd = temporaryFolder()
})

interface Ended {
  readonly outcome: RunOutcome<string>
  readonly sent: readonly string[]
  readonly lastRequest: string
}

async function ended(permissions: Permissions, readOnly = false): Promise<Ended> {
  const sent: string[] = []
  const send: AnyTool = tool({
    name: 'Send',
    description: 'Sends a message',
    readOnly,
    needsApproval: true,
    execute: () => `sent ${String(sent.push('hello'))}`,
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'Send', id: 'c1' }] }, 'done'])
  const outcome = await run({ model, tools: [send], permissions, prompt: 'go' })
  return { outcome, sent, lastRequest: JSON.stringify(model.requests.at(-1)?.messages) }
}

const rules = (options: Partial<PermissionOptions>): Permissions => createPermissions({ cwd, ...options })

describe('the rules of the coding agent', () => {
  test.each<[string, Partial<PermissionOptions>, boolean, 'asked' | 'sent' | 'denied']>([
    ['no rule', {}, false, 'asked'],
    ['no rule, of a tool that only reads', {}, true, 'asked'],
    ['another rule', { allow: ['Read', 'Bash'] }, true, 'asked'],
    ['a rule for it', { allow: ['Send'] }, false, 'sent'],
    ['an ask rule before it', { allow: ['Send'], ask: ['Send'] }, false, 'asked'],
    ['a deny rule before it', { allow: ['Send'], deny: ['Send'] }, false, 'denied'],
    ['acceptEdits', { mode: 'acceptEdits' }, true, 'asked'],
    ['bypassPermissions', { mode: 'bypassPermissions' }, false, 'sent'],
    ['bypassPermissions with a deny rule', { mode: 'bypassPermissions', deny: ['Send'] }, false, 'denied'],
    ['dontAsk', { mode: 'dontAsk' }, true, 'denied'],
    ['dontAsk with a rule for it', { mode: 'dontAsk', allow: ['Send'] }, false, 'sent'],
    ['nobody there', { whenAsked: 'deny' }, true, 'denied'],
    ['plan mode', { mode: 'plan' }, false, 'denied'],
    ['plan mode, of a tool that only reads', { mode: 'plan' }, true, 'asked'],
  ])('%s', async (_what, options, readOnly, what) => {
    const { outcome, sent } = await ended(rules(options), readOnly)
    const expected = { asked: ['needs_approval', []], sent: ['completed', ['hello']], denied: ['completed', []] }[what]
    expect([outcome.reason, sent]).toEqual(expected)
  })

  test('name the rule that would allow it, offer it, and apply it', async () => {
    const { outcome } = await ended(rules({}), true)
    const reason = 'the tool Send requires approval of this call. The rule Send would allow it.'
    expect(outcome.pending[0]?.reason).toBe(reason)
    const permissions = rules({})
    const request = {
      call: { type: 'tool_use', id: 'c1', name: 'Send', input: {} },
      tool: tool({ name: 'Send', description: '', readOnly: true, execute: () => '' }),
      readOnly: true,
      needsApproval: true,
    } as const
    const [suggested] = permissions.suggest?.(request) ?? []
    expect(suggested).toMatchObject({ type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Send' }] })
    expect(permissions.decide({ ...request, learned: suggested === undefined ? [] : [suggested] })).toEqual({
      behavior: 'allow',
      explicit: true,
    })
  })

  test('tell the model in dontAsk what is missing', async () => {
    const { lastRequest } = await ended(rules({ mode: 'dontAsk' }), true)
    expect(lastRequest).toContain(
      'Not allowed: the tool Send requires approval of this call. The rule Send would allow it.',
    )
  })
})

describe('a hook', () => {
  const shellHooks = (event: string, fields: object): ShellHooks =>
    new ShellHooks({
      hooks: readHooks({
        [event]: [
          {
            matcher: '',
            hooks: [
              {
                type: 'command',
                command: `echo '${JSON.stringify({ hookSpecificOutput: { hookEventName: event, ...fields } })}'`,
              },
            ],
          },
        ],
      }).hooks,
      sessionId: 's1',
      transcriptPath: `${cwd}/s1.jsonl`,
      cwd,
      env: process.env,
      permissionMode: () => 'default',
      model: 'scripted',
      source: 'startup',
      emit: () => undefined,
    })

  test('on PermissionRequest answers in place of a user', async () => {
    const allows = shellHooks('PermissionRequest', { decision: { behavior: 'allow' } })
    const { outcome, sent } = await ended(allows.permissions(rules({}), 'ask'))
    await allows.end('other')
    expect([outcome.reason, sent]).toEqual(['completed', ['hello']])
  })
})
