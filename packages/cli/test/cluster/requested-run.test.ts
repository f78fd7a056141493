// Holds rules of docs/spec: R-WORK-8a
import type { Question, Session, SessionEvent } from '@halting/core/session'
import { EventListeners } from '@halting/core/session'
import { ConfigurationError, type SdkMessage } from '@halting/core'
import { createTranslator } from '@halting/core/adapters'
import { expect, test } from 'vitest'
import { requestedRun } from '../../src/cluster/requested-run.ts'
import { withMissedTexts } from '../../src/cluster/prompt.ts'

/** A session that emits what the test wants. */
function setting(messageId: string | undefined) {
  const listeners = new EventListeners()
  const questions: Question[] = []
  let settle = (): void => {}
  const settled = new Promise<void>((resolve) => (settle = resolve))
  // The run's snapshot.
  const session = {
    listen: (listener: (event: SessionEvent) => void) => listeners.add(listener),
    settled: () => settled,
    snapshot: { questions },
  } as unknown as Session
  const asked: string[] = []
  const notes: string[] = []
  const run = requestedRun(session, {
    messageId,
    onLimit: ({ limit }) => notes.push(limit),
    onQuestion: ({ callId }) => asked.push(callId),
    onNote: (text) => notes.push(text),
  })
  const emitted: string[] = []
  run.listen((event) =>
    emitted.push(event.type === 'run_end' || event.type === 'run_start' ? `${event.type} ${event.runId}` : event.type),
  )
  const emit = (event: object): void => listeners.emit(event as SessionEvent)
  return { run, emitted, asked, notes, questions, settle, emit }
}

const result = { type: 'message', message: { type: 'result' } }
const start = (runId: string, ...ids: string[]): object => ({ type: 'run_start', runId, ids })
const end = (runId: string): object => ({ type: 'run_end', runId })

test('does not emit results and endings of runs for other messages', async () => {
  const { run, emitted, emit } = setting('mine')
  for (const event of [result, end('before'), start('own', 'mine'), result, end('own')]) emit(event)
  // Another client continues the session; it is not waited for.
  emit(start('after', 'theirs'))
  await run.settled()
  for (const event of [result, end('after')]) emit(event)
  expect(emitted).toEqual(['run_start own', 'message', 'run_end own'])
})

test('emits the ending of an active run that takes the message', () => {
  const { emitted, emit } = setting('mine')
  for (const event of [{ type: 'taken', ids: ['mine'], turn: 1 }, result, end('theirs')]) emit(event)
  expect(emitted).toEqual(['taken', 'message', 'run_end theirs'])
})

test("emits a worker's failure only if no run took the message", async () => {
  const failed = { type: 'failed', error: new ConfigurationError('No.'), givenBack: [] }
  const refused = setting('mine')
  refused.emit(failed)
  refused.settle()
  await refused.run.settled()
  expect(refused.emitted).toEqual(['failed'])
  const triedAgain = setting('mine')
  for (const event of [failed, start('own', 'mine'), end('own')]) triedAgain.emit(event)
  triedAgain.settle()
  await triedAgain.run.settled()
  expect(triedAgain.emitted).toEqual(['run_start own', 'run_end own'])
})

test('emits a question once, regardless of which worker asks it', () => {
  const { asked, questions, emit, notes } = setting(undefined)
  for (const callId of ['a', 'a', 'b']) {
    questions.splice(0, Infinity, { callId } as Question)
    emit({ type: 'changed' })
    emit({ type: 'question', question: { callId } })
  }
  emit({ type: 'note', text: 'It waits.' })
  expect([asked, notes]).toEqual([['a', 'b'], ['It waits.']])
})

test('emits a text whose pieces are missing as a whole, once, and does not repeat one that arrived', () => {
  const emitted: string[] = []
  const watcher = withMissedTexts({
    onEvent(event) {
      if (event.type === 'model_update' && event.update.type === 'text_delta') emitted.push(event.update.text)
    },
    see: () => undefined,
    end: () => undefined,
    after: () => undefined,
    release: () => undefined,
  })
  const says = (id: string, text: string): SdkMessage[] => {
    const translator = createTranslator({ sessionId: 's', runId: 'r' })
    const message = {
      id,
      type: 'message' as const,
      role: 'assistant' as const,
      model: 'm',
      content: [{ type: 'text' as const, text }],
      stop_reason: 'end_turn' as const,
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    }
    return [...translator.messages({ type: 'message', entry: { kind: 'assistant', id, message } as never })]
  }
  for (const message of says('one', 'Not heard.')) watcher.see(message)
  watcher.onEvent({ type: 'model_start', request: 2, attempt: 1, model: 'm' })
  for (const text of ['He', 'ard.'])
    watcher.onEvent({
      type: 'model_update',
      request: 2,
      entryId: 'two',
      update: { type: 'text_delta', index: 0, text },
    })
  for (const message of says('two', 'Heard.')) watcher.see(message)
  expect(emitted).toEqual(['Not heard.', 'He', 'ard.'])
})
