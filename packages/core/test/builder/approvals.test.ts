// Tests R-PERM-6, R-PERM-7 and R-PERM-9 for built agents and engines.
import { describe, expect, test } from 'vitest'
import {
  AgentState,
  ConfigurationError,
  createMemorySteps,
  type RunEvent,
  type RunOptions,
  type PermissionDecision,
  type Permissions,
  type QueryEngine,
  type SdkMessage,
} from '../../src/index.ts'
import { AgentBuilder } from '../../src/compat/index.ts'
import type { ApprovalRequest } from '../../src/compat/agent.ts'
import { createFakeClock, scriptedModel, transcriptProblems } from '../../src/testing/index.ts'
import type { StepStore } from '../../src/entries/steps.ts'
import { freshProgress } from '../../src/state/state.ts'
import { ask, engineOf, resultOf } from '../support/engine.ts'
import { calls, tool, until, type Script } from '../support/harness.ts'

const asks: Permissions = {
  denies: () => undefined,
  decide: ({ call }) => ({ behavior: 'ask', message: `Allow ${call.name}?` }),
}
const allow: PermissionDecision = { behavior: 'allow' }
const state = AgentState.empty({ sessionId: 's' }).withUserMessage('go')

function build(script: Script, options: Partial<RunOptions> = {}) {
  const done: string[] = []
  const tools = [tool('Pay', (input) => (done.push(JSON.stringify(input)), 'paid'))]
  const clock = createFakeClock({ autoAdvance: true })
  const agent = AgentBuilder.base({ model: scriptedModel(script), clock, permissions: asks, tools, ...options }).build()
  return { agent, done }
}

const twoCalls: Script = [calls({ name: 'Pay', id: 'a', input: { to: 'Ann' } }, { name: 'Pay', id: 'b' }), 'done']

describe('a built agent that needs approval', () => {
  test("continues with the person's answer, also after its state was stored", async () => {
    const { agent, done } = build(twoCalls)
    const waiting = await agent.execute(state)
    expect([waiting.stopReason(), waiting.stopSignals().highest()?.context['pending'], done]).toEqual([
      'stop_requested',
      [{ id: 'a', name: 'Pay', message: 'Allow Pay?' }],
      [],
    ])
    const stored = AgentState.fromJSON(JSON.parse(JSON.stringify(waiting)))
    const approvals = { a: allow, b: { behavior: 'deny', message: 'not Bob' } } as const
    const ended = await agent.execute(stored, { approvals })
    expect([ended.stopReason(), ended.lastAnswer(), done]).toEqual(['completed', 'done', ['{"to":"Ann"}']])
    expect(transcriptProblems(ended.messages())).toEqual([])
    expect(ended.executionId).not.toBe(waiting.executionId)
  })

  test('continues to iterate with the answer', async () => {
    const { agent, done } = build(twoCalls)
    const waiting = await agent.execute(state)
    const seen: (string | null)[] = []
    for await (const reached of agent.iterate(waiting, { approvals: { a: allow, b: allow } }))
      seen.push(reached.stopReason())
    expect([seen.at(-1), done.length]).toEqual(['completed', 2])
  })

  test('accepts approvals only for pending calls, and only before another message', async () => {
    const { agent, done } = build(twoCalls)
    await expect(agent.execute(state, { approvals: { a: allow } })).rejects.toThrow(
      new ConfigurationError('No call waits for approval. Pass a prompt instead.'),
    )
    const waiting = await agent.execute(state)
    await expect(agent.execute(waiting.withUserMessage('yes, do'), { approvals: { a: allow } })).rejects.toThrow(
      new ConfigurationError(
        'The state ends with a new message, but results must precede other messages. Execute with the approvals first.',
      ),
    )
    expect(done).toEqual([])
  })
})

describe('a built agent that waits for a person', () => {
  const onAsk = 'wait' as const

  test('asks for each call, including those of a subagent', async () => {
    const asked: ApprovalRequest[] = []
    const onApproval = async (request: ApprovalRequest): Promise<PermissionDecision> => {
      asked.push(request)
      return request.callId === 'a' ? allow : { behavior: 'deny', message: 'no' }
    }
    const { agent, done } = build(twoCalls, { onAsk })
    const ended = await agent.execute(state, { onApproval })
    expect([ended.stopReason(), done]).toEqual(['completed', ['{"to":"Ann"}']])
    expect(asked).toEqual([
      { callId: 'a', name: 'Pay', input: { to: 'Ann' }, message: 'Allow Pay?' },
      { callId: 'b', name: 'Pay', input: {}, message: 'Allow Pay?' },
    ])
    const parent: Script = ({ messages }) =>
      messages[0]?.content === 'sub' ? (messages.length === 1 ? calls('Pay') : 'found') : messages.length === 1 ? calls('Agent') : 'done' // prettier-ignore
    const spawning = { name: 'Agent', description: '', inputSchema: { type: 'object' }, readOnly: true, spawn: () => ({ prompt: 'sub' }) } // prettier-ignore
    const paid = tool('Pay', 'paid')
    const inner = build(parent, { onAsk, tools: [spawning, paid] })
    const names: string[] = []
    const allowing = ({ name }: ApprovalRequest) => (names.push(name), allow)
    const last = await inner.agent.execute(state, { onApproval: allowing })
    expect([last.stopReason(), names]).toEqual(['completed', ['Agent', 'Pay']])
  })

  test('denies calls when nobody could be asked', async () => {
    const { agent, done } = build(twoCalls, { onAsk })
    const ended = await agent.execute(state, {
      onApproval: () => {
        throw new Error('dialog closed')
      },
    })
    expect([ended.stopReason(), done]).toEqual(['completed', []])
    expect(JSON.stringify(ended.messages())).toContain('Denied: nobody could be asked for permission: dialog closed')
  })

  test('is rejected when nobody could ever answer; a custom step engine takes answers itself', async () => {
    const { agent } = build(twoCalls, { onAsk })
    await expect(agent.execute(state)).rejects.toThrow(
      new ConfigurationError(
        "onAsk is 'wait', and nobody would answer. Give onApproval, or steps that take the answers.",
      ),
    )
    const steps = createMemorySteps({ clock: createFakeClock() })
    const own = build(twoCalls, { onAsk, steps })
    const asked: RunEvent[] = []
    const running = own.agent.execute(state, { runId: 'r', onEvent: (event) => asked.push(event) })
    for (const [index, id] of ['a', 'b'].entries()) {
      await until(() => asked.filter(({ type }) => type === 'approval_needed').length > index)
      steps.answer(`r/approval:1:${index}:${id}`, { behavior: 'allow' })
    }
    expect([(await running).stopReason(), own.done.length]).toEqual(['completed', 2])
  })
})

test('an engine whose run waits for a person takes the answer', async () => {
  const tools = [tool('Pay', 'paid')]
  const { engine, events } = engineOf([calls({ name: 'Pay', id: 'a' }), 'done'], {
    tools,
    permissions: asks,
    onAsk: 'wait',
  })
  const messages = (async () => {
    const all = []
    for await (const message of engine.submit('go')) all.push(message)
    return all
  })()
  await until(() => events.some(({ type }) => type === 'approval_needed'))
  engine.answer('run1/approval:1:0:a', allow)
  expect(resultOf(await messages).result).toBe('done')
  expect(() => engine.answer('run1/approval:1:0:a', allow)).not.toThrow()
})

describe('an engine that resumes while a call is pending', () => {
  const messagesOf = async (messages: ReturnType<QueryEngine['resume']>) => {
    const all: SdkMessage[] = []
    for await (const message of messages) all.push(message)
    return resultOf(all)
  }
  const noLog: StepStore = { keeps: 'nothing', append: () => undefined, flush: () => undefined }
  /** Rules that deny calls when nobody can be asked, unless the call was already asked about. */
  const denies: Permissions = {
    denies: () => undefined,
    decide: ({ wasAsked }) => ({ behavior: wasAsked === true ? 'ask' : 'deny', message: 'nobody is here' }),
  }

  test('keeps the permission request, whatever the rules say when nobody is there; the answer then counts', async () => {
    const done: string[] = []
    const tools = [tool('Pay', () => (done.push('paid'), 'paid'))]
    const { engine, model } = engineOf([calls({ name: 'Pay', id: 'a' }), 'done'], { tools, permissions: asks })
    await messagesOf(engine.submit('go'))
    const transcript = engine.transcript.length
    expect(engine.canResume).toBe(true)
    await messagesOf(engine.resume())
    expect([engine.lastTerminal?.reason, engine.lastTerminal?.signal.context['pending']]).toEqual([
      'needs_approval',
      [{ id: 'a', name: 'Pay', message: 'Allow Pay?' }],
    ])
    expect([engine.transcript.length, model.requests.length, done]).toEqual([transcript, 1, []])
    expect((await messagesOf(engine.approve({ a: allow }))).result).toBe('done')
    expect(done).toEqual(['paid'])
  })

  test('in another process, whose rules deny when nobody is there', async () => {
    const tools = [tool('Pay', 'paid')]
    const first = await ask([calls({ name: 'Pay', id: 'a' }), 'done'], { tools, permissions: asks })
    const { transcript } = first.engine
    const ended = [{ runId: 'run1', terminal: first.terminal, spent: freshProgress(0) }]
    const storedSession = { transcript, open: undefined, ended, log: noLog }
    const { engine, model } = engineOf(['done'], { tools, permissions: denies, session: storedSession })
    await messagesOf(engine.resume())
    expect([engine.lastTerminal?.reason, model.requests.length]).toEqual(['needs_approval', 0])
    expect((await messagesOf(engine.approve({ a: allow }))).result).toBe('done')
  })

  test('asks the people that are reachable now', async () => {
    const tools = [tool('Pay', 'paid')]
    let isThere = false
    const canUseTool = () => (isThere ? allow : ({ behavior: 'deny', message: 'no' } as const))
    const first = await ask([calls({ name: 'Pay', id: 'a' })], { tools, permissions: asks })
    isThere = true
    const ended = [{ runId: 'run1', terminal: first.terminal, spent: freshProgress(0) }]
    const session = { transcript: first.engine.transcript, open: undefined, ended, log: noLog }
    const { engine } = engineOf(['done'], { tools, permissions: asks, session, canUseTool })
    expect((await messagesOf(engine.resume())).result).toBe('done')
  })
})
