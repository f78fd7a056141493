// Spec R-HOST-10: a host answers what a person would be asked.
import type { JsonObject } from '@halting/core'
import type { PermissionAnswer } from '@halting/core/adapters'
import type { Question, SessionEvent } from '@halting/core/session'
import { expect, test } from 'vitest'
import { answerByHost } from '../../src/host/questions.ts'
import { fakeHost } from './support/fake-host.ts'

const bash: Question = {
  id: 'question1',
  toolName: 'Bash',
  input: { command: 'rm -rf build', description: 'Clears the build' },
  callId: 'toolu_1',
  reason: 'no rule allows rm.',
  suggestions: [],
}

/** A fake session that asks what the test wants. */
function followQuestions(open: readonly Question[] = []) {
  const listeners = new Set<(event: SessionEvent) => void>()
  const answers: (readonly [string, PermissionAnswer])[] = []
  return {
    answers,
    session: {
      // The code reads only these.
      snapshot: { questions: open } as never,
      listen(listener: (event: SessionEvent) => void) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
      answer: (id: string, answer: PermissionAnswer) => answers.push([id, answer]) > 0,
    },
    tell: (event: SessionEvent) => {
      for (const listener of listeners) listener(event)
    },
  }
}

const nextTick = () => new Promise((resolve) => setImmediate(resolve))

test('asks with all known details, and passes the answer to the session', async () => {
  const { session, tell, answers } = followQuestions()
  const host = fakeHost()
  answerByHost(session, host.control)
  const suggestions: Question['suggestions'] = [
    { type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'rm *' }], behavior: 'allow', destination: 'session' },
  ]
  tell({ type: 'question', question: { ...bash, suggestions, agentId: 'agent1' } })
  expect(host.sentRequests()).toEqual([
    {
      subtype: 'can_use_tool',
      tool_name: 'Bash',
      display_name: 'Bash',
      input: bash.input,
      tool_use_id: 'toolu_1',
      description: 'Clears the build',
      permission_suggestions: suggestions,
      decision_reason: 'no rule allows rm.',
      agent_id: 'agent1',
    },
  ])
  host.answer(0, { behavior: 'allow', updatedInput: { command: 'true' }, toolUseID: 'toolu_1' })
  await nextTick()
  expect(answers).toEqual([
    ['question1', { behavior: 'allow', updatedInput: { command: 'true' }, toolUseID: 'toolu_1' }],
  ])
})

test('shows every character of the reason, and the call unchanged', () => {
  const { session, tell } = followQuestions()
  const host = fakeHost()
  answerByHost(session, host.control)
  const input = { command: 'npm\u200B test' }
  tell({ type: 'question', question: { ...bash, input, reason: 'no rule allows npm\u200B test\u{E0041}.' } })
  expect(host.sentRequests()).toMatchObject([{ input, decision_reason: 'no rule allows npm⟦U+200B⟧ test⟦U+E0041⟧.' }])
})

test('warns about a command that would run unconfined (spec R-EFRONT-5)', () => {
  const { session, tell } = followQuestions()
  const host = fakeHost()
  answerByHost(session, host.control)
  tell({ type: 'question', question: { ...bash, input: { ...bash.input, unconfined: true } } })
  tell({ type: 'question', question: { ...bash, id: 'question2', input: { ...bash.input, unconfined: false } } })
  expect(host.sentRequests()).toMatchObject([
    { decision_reason: expect.stringMatching(/^no rule allows rm\. It would run outside of the confinement: /) },
    { decision_reason: 'no rule allows rm.' },
  ])
})

test('asks questions that are already open, once each', () => {
  const { session, tell } = followQuestions([bash])
  const host = fakeHost()
  const stop = answerByHost(session, host.control)
  expect(host.sentRequests().length).toBe(1)
  stop()
  tell({ type: 'question', question: { ...bash, id: 'question2' } })
  expect(host.sentRequests().length).toBe(1)
})

test('a failing callback denies with its message, and so does a host that is gone', async () => {
  const { session, tell, answers } = followQuestions()
  const host = fakeHost()
  answerByHost(session, host.control)
  tell({ type: 'question', question: bash })
  host.refuse(0, 'boom')
  tell({ type: 'question', question: { ...bash, id: 'question2' } })
  host.control.disconnect('The host has gone.')
  tell({ type: 'question', question: { ...bash, id: 'question3' } })
  await nextTick()
  expect(answers).toEqual([
    ['question1', { behavior: 'deny', message: 'boom' }],
    ['question2', { behavior: 'deny', message: 'The host has gone.' }],
    ['question3', { behavior: 'deny', message: 'The host has gone.' }],
  ])
})

test('cancels a question that is no longer needed, and ignores a later answer', async () => {
  const { session, tell, answers } = followQuestions()
  const host = fakeHost()
  answerByHost(session, host.control)
  tell({ type: 'question', question: bash })
  tell({ type: 'question_closed', id: 'question1', because: 'withdrawn' })
  expect(host.cancelled()).toEqual([host.ids()[0]])
  host.answer(0, { behavior: 'allow' })
  await nextTick()
  expect(answers).toEqual([])
})

test('an answer for another call allows nothing', async () => {
  const { session, tell, answers } = followQuestions()
  const host = fakeHost()
  answerByHost(session, host.control)
  for (const [at, toolUseID] of ['toolu_2', 'toolu_1', null].entries()) {
    tell({ type: 'question', question: { ...bash, id: `question${at}` } })
    host.answer(at, { behavior: 'allow', toolUseID })
  }
  await nextTick()
  const denied = expect.objectContaining({ behavior: 'deny', isInvalid: true })
  expect(answers).toEqual([
    ['question0', denied],
    ['question1', { behavior: 'allow', toolUseID: 'toolu_1' }],
    ['question2', { behavior: 'allow', toolUseID: null }],
  ])
})

test('an update for the command line applies to the session', async () => {
  const { session, tell, answers } = followQuestions()
  const host = fakeHost()
  answerByHost(session, host.control)
  tell({ type: 'question', question: { ...bash, toolName: 'mcp__my_server__do__it' } })
  expect(host.sentRequests()[0]?.['display_name']).toBe('my_server: do__it')
  const update = { type: 'setMode', mode: 'acceptEdits', destination: 'cliArg' }
  host.answer(0, { behavior: 'allow', updatedPermissions: [update] })
  await nextTick()
  expect(answers[0]?.[1]).toEqual({
    behavior: 'allow',
    updatedPermissions: [{ ...update, destination: 'session' } satisfies JsonObject],
  })
})
