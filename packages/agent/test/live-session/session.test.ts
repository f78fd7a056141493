// One session, as faces use it (spec R-LIVE-1 to R-LIVE-9).
import { expect, test } from 'vitest'
import { tool, type QueryOptions } from '@halting/core'
import { allowAll } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { createSession, type Session, type SessionEvent, type SessionParts } from '@halting/agent/session'

export const open: Session[] = []

function sessionOf(
  replies: readonly ScriptedReply[],
  options: Partial<QueryOptions> = {},
  parts: Partial<SessionParts> = {},
): { readonly session: Session; readonly told: SessionEvent[] } {
  const session = createSession({
    options: { model: scriptedModel(replies), ...options },
    journal: undefined,
    answersQuestions: false,
    permissions: { mode: 'default' },
    cwd: '/work',
    end: async () => undefined,
    ...parts,
  })
  const told: SessionEvent[] = []
  session.listen((event) => told.push(event))
  return { session, told }
}

const shown = (told: readonly SessionEvent[]): readonly string[] =>
  told.flatMap((event) => {
    switch (event.type) {
      case 'message':
        return [`message ${event.message.type}`]
      case 'run_start':
        return [`run_start ${event.runId} ${event.ids.join()}`]
      case 'run_end':
        return [`run_end ${event.terminal.reason}`]
      case 'taken':
        return [`taken ${event.ids.join()} ${event.turn}`]
      case 'loop':
      case 'changed':
        return []
      case 'question':
        return [`question ${event.question.toolName}`]
      case 'question_closed':
        return [`question_closed ${event.because}`]
      default:
        return [event.type]
    }
  })

test('a prompt begins a run, and all of it is told in order', async () => {
  const { session, told } = sessionOf([{ text: 'Hello.' }])
  const id = session.prompt('hi', { id: 'm1' })
  expect(id).toBe('m1')
  expect(session.snapshot.status).toBe('running')
  await session.settled()
  expect(shown(told)).toEqual([
    'run_start run1 m1',
    'message system',
    'message assistant',
    'message result',
    'run_end completed',
  ])
  expect(session.snapshot).toMatchObject({ status: 'idle', queue: [], canResume: true, last: { reason: 'completed' } })
  await session.close()
  expect(told.at(-1)).toEqual({ type: 'closed' })
})

const look = tool({ name: 'Look', description: '', readOnly: true, execute: () => 'seen' })
const looks: ScriptedReply = { toolCalls: [{ name: 'Look', input: {} }] }

test('what is said while a run goes on is taken by it; what comes too late begins the next', async () => {
  const { session, told } = sessionOf([looks, { text: 'One.' }, { text: 'Two.' }], { tools: [look] })
  session.listen((event) => {
    if (event.type === 'loop' && event.event.type === 'tool_start') session.prompt('and this', { id: 'steer' })
    if (event.type === 'message' && event.message.type === 'result' && event.message.num_turns === 2)
      session.prompt('late', { id: 'late' })
  })
  session.prompt('go', { id: 'first' })
  await session.settled()
  expect(shown(told).filter((line) => !line.startsWith('message'))).toEqual([
    'run_start run1 first',
    'taken steer 2',
    'run_end completed',
    'run_start run2 late',
    'run_end completed',
  ])
})

test('a call that a person has to allow waits for the answer, and is withdrawn by an interruption', async () => {
  const permissions = { ...allowAll, decide: () => ({ behavior: 'ask', message: 'Really?' }) as const }
  const { session, told } = sessionOf(
    [looks, { text: 'One.' }, looks],
    { tools: [look], permissions },
    { answersQuestions: true },
  )
  const answered = session.listen((event) => {
    if (event.type !== 'question') return
    expect(session.snapshot).toMatchObject({ status: 'requires_action', activity: { type: 'question' } })
    expect(session.answer(event.question.id, { behavior: 'allow' })).toBe(true)
    expect(session.answer(event.question.id, { behavior: 'allow' })).toBe(false)
  })
  session.prompt('go')
  await session.settled()
  answered()
  session.listen((event) => {
    if (event.type === 'question') session.interrupt()
  })
  session.prompt('again')
  await session.settled()
  expect(shown(told).filter((line) => !line.startsWith('message'))).toEqual([
    'run_start run1 message1',
    'question Look',
    'question_closed answered',
    'run_end completed',
    'run_start run2 message2',
    'question Look',
    'question_closed withdrawn',
    'run_end aborted_tools',
  ])
})

test('a run that ended at a limit goes on with other limits, and its figures count once', async () => {
  const { session } = sessionOf([looks, looks, { text: 'Done.' }], { tools: [look], maxTurns: 1 })
  session.prompt('go')
  await session.settled()
  expect(session.snapshot).toMatchObject({ last: { reason: 'max_turns' }, canResume: true, figures: { turns: 1 } })
  session.resume({ maxTurns: 5 })
  await session.settled()
  expect(session.snapshot.last?.reason).toBe('completed')
  expect(session.snapshot).toMatchObject({ limits: { maxTurns: 5 }, figures: { turns: 3 } })
})
