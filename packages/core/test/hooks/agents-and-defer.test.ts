// Tests R-HOOK-3 (`beforeAgent`, `defer`), R-HOOK-15, R-SHOOK-7.
import { describe, expect, test } from 'vitest'
import { CallableHook, certificate, type AgentTool, type ModelRequest, type Permissions } from '../../src/index.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, hook, resultTexts, run, tool } from '../support/harness.ts'

const agent: AgentTool = {
  name: 'Agent',
  description: 'a subagent',
  inputSchema: { type: 'object' },
  readOnly: true,
  spawn: () => ({ prompt: 'sub', agentType: 'helper' }),
}
/** The main loop starts one subagent, which answers. A repeated request returns the last reply again. */
const script = ({ messages }: ModelRequest): ScriptedReply => {
  const isSub = messages[0]?.content === 'sub'
  const turn = messages.filter(({ role }) => role === 'assistant').length
  if (!isSub && turn === 0) return calls({ name: 'Agent', id: 'c1', input: {} })
  return `${isSub ? 'sub' : 'main'} ${turn}`
}

test('calls beforeAgent in a subagent, before its first request, in place of beforeExecution', async () => {
  const seen: unknown[] = []
  const note = (trigger: 'beforeExecution' | 'beforeAgent') =>
    hook(trigger, (context) => {
      seen.push([trigger, context.agentType])
      return context.withState(context.state().withUserMessage(`a word for ${trigger}`))
    })
  const { state } = await run(script, { tools: [agent], hooks: [note('beforeExecution'), note('beforeAgent')] })
  expect(seen).toEqual([
    ['beforeExecution', null],
    ['beforeAgent', 'helper'],
  ])
  expect(JSON.stringify(state.transcript.messages())).toContain('a word for beforeExecution')
})

test('calls a stop hook for the answers of the run or for those of subagents, and sends the author back', async () => {
  const seen: unknown[] = []
  const watch = (id: string, of?: 'run' | 'agents') => ({
    id,
    ...(of !== undefined && { of }),
    handle: ({ querySource, stopHookActive }: { querySource: string; stopHookActive: boolean }) => {
      seen.push([id, querySource, stopHookActive])
      return stopHookActive ? {} : { block: `more for ${id}` }
    },
  })
  const result = await run(script, { tools: [agent], stopHooks: [watch('plain'), watch('agents', 'agents')] })
  expect(seen).toEqual([
    ['agents', 'helper', false],
    ['agents', 'helper', true],
    ['plain', 'main', false],
    ['plain', 'main', true],
  ])
  expect(resultTexts(result)).toEqual(['sub 1'])
})

test('counts stop hooks of subagents in the bound of subagents, and not in that of the run', () => {
  const model = scriptedModel([])
  const iterations = (stopHooks: readonly { id: string; of?: 'run' | 'agents'; handle: () => void }[]) =>
    certificate({ model, maxTurns: 3, maxSubagents: 2, tools: [agent], stopHooks }).laps
  const handle = () => undefined
  expect(iterations([{ id: 'a', of: 'agents', handle }])).toEqual(iterations([]))
  expect(iterations([{ id: 'a', of: 'run', handle }])).not.toEqual(iterations([]))
})

describe('a call that a hook leaves open', () => {
  const says = (permission: 'allow' | 'ask' | 'defer', id: string = permission) =>
    hook('beforeToolUse', (context) => context.withPermission(permission), { id })
  const ran: string[] = []
  const echo = tool('Echo', () => {
    ran.push('ran')
    return 'echoed'
  })
  const reply = [calls({ name: 'Echo', id: 'c1', input: {} }), 'answer']

  test('ends the run as needs_approval, although rules and other hooks allow it', async () => {
    for (const hooks of [
      [says('defer'), says('allow')],
      [says('allow'), says('defer')],
      [says('ask'), says('defer')],
    ]) {
      const { terminal } = await run(reply, { tools: [echo], hooks })
      expect([terminal.reason, terminal.signal.context, ran]).toEqual([
        'needs_approval',
        { pending: [{ id: 'c1', name: 'Echo', message: 'A hook deferred the decision about this call.' }] },
        [],
      ])
    }
  })

  test('is denied when a rule or another hook denies it', async () => {
    const deny = hook('beforeToolUse', (context) => context.withBlocked('no'), { id: 'deny' })
    const rules: Permissions = { denies: () => 'a rule', decide: () => ({ behavior: 'allow' }) }
    const first = await run(reply, { tools: [echo], hooks: [says('defer'), deny] })
    const second = await run(reply, { tools: [echo], hooks: [says('defer')], permissions: rules })
    expect([resultTexts(first), resultTexts(second), ran]).toEqual([['no'], ['a rule'], []])
  })
})

test('restricts a tool hook to names that match a function', async () => {
  const seen: unknown[] = []
  const tools = [tool('Echo', () => 'a'), tool('Other', () => 'b')]
  const hooks = [
    new CallableHook((context) => void seen.push(context.toolCall?.name), {
      triggers: ['beforeToolUse'],
      tools: (name) => name.startsWith('E'),
    }),
  ]
  const result = await run([calls('Echo', 'Other'), 'answer'], { tools, hooks })
  expect(seen).toEqual(['Echo'])
  expect(result.events.filter(({ type }) => type === 'hook_start')).toHaveLength(1)
})
