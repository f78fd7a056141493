// Holds rules of docs/spec: R-CLU-13, R-CLU-13b: a message is emitted once, by a worker or by the records.
import type { SessionEvent } from '@halting/core/session'
import { expect, test } from 'vitest'
import { emptySnapshot } from '../../src/client/remote-snapshot.ts'
import { SessionEventLog } from '../../src/client/session-event-log.ts'
import { recordSession } from '../support/record-session.ts'

const messagesIn = (events: readonly SessionEvent[]): readonly unknown[] =>
  events.flatMap((event): readonly unknown[] => {
    if (event.type === 'run_start') return [['run_start', event.runId, event.ids]]
    if (event.type === 'run_end') return [['run_end', event.runId, event.terminal.reason]]
    if (event.type !== 'message') return []
    const { message } = event
    if (message.type === 'system' && message.subtype === 'init') return [['init', message.uuid]]
    const isConversation = message.type === 'assistant' || message.type === 'user'
    return isConversation
      ? [[message.uuid, message.message.content]]
      : message.type === 'result'
        ? [['result', message.uuid]]
        : []
  })

const entriesIn = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'loop' && event.event.type === 'message' ? [event.event.entry.id] : []))

test('a client emits the same messages in the same order, each once, wherever its connection was lost', async () => {
  const { events, records } = await recordSession()
  const results = events.flatMap((event) => (event.type === 'run_end' ? [event.result] : []))
  const [result] = results
  expect(result).toBeDefined()
  if (result === undefined) return
  for (let cut = 0; cut <= events.length; cut++) {
    const emitted: SessionEvent[] = []
    const eventLog = new SessionEventLog(
      's',
      (event) => emitted.push(event),
      () => emptySnapshot('s'),
    )
    for (const event of events.slice(0, cut)) eventLog.onEvent(event)
    // From here on only the records have events, because no worker sends any.
    for (const record of records) eventLog.onRecord(record)
    eventLog.end(result)
    expect(messagesIn(emitted), `cut after ${cut} events`).toEqual(messagesIn(events))
    expect(entriesIn(emitted), `cut after ${cut} events`).toEqual(entriesIn(events))
  }
})

test('events that the next worker repeats are not emitted again', async () => {
  const { events } = await recordSession()
  const emitted: SessionEvent[] = []
  const eventLog = new SessionEventLog(
    's',
    (event) => emitted.push(event),
    () => emptySnapshot('s'),
  )
  for (const event of events) eventLog.onEvent(event)
  eventLog.onReconnect()
  for (const event of events) eventLog.onEvent(event)
  expect(messagesIn(emitted)).toEqual(messagesIn(events))
  const ofLoop = (all: readonly SessionEvent[]): readonly unknown[] =>
    all.flatMap((event) => {
      const isOnce = event.type === 'loop' && !['model_start', 'model_update', 'figures'].includes(event.event.type)
      return isOnce ? [event.event] : []
    })
  expect(ofLoop(emitted)).toEqual(ofLoop(events))
})

test('no deltas are emitted of a reply whose beginning was missed', () => {
  const emitted: SessionEvent[] = []
  const eventLog = new SessionEventLog(
    's',
    (event) => emitted.push(event),
    () => emptySnapshot('s'),
  )
  const piece = (text: string): SessionEvent => ({
    type: 'loop',
    event: { type: 'model_update', request: 1, entryId: 'e', update: { type: 'text_delta', index: 0, text } },
  })
  const begins: SessionEvent = { type: 'loop', event: { type: 'model_start', request: 1, attempt: 1, model: 'm' } }
  eventLog.onEvent(piece('before'))
  eventLog.onEvent(begins)
  eventLog.onEvent(piece('one '))
  eventLog.onReconnect()
  eventLog.onEvent(piece('three'))
  eventLog.onEvent(begins)
  eventLog.onEvent(piece('one two three'))
  expect(emitted).toEqual([begins, piece('one '), begins, piece('one two three')])
})
