// Holds rules of docs/spec.md: R-CLU-13: a message is told once, by a worker or by the records.
import type { SessionEvent } from '@halting/agent/session'
import { expect, test } from 'vitest'
import { Told } from '../../src/client/told.ts'
import { toldSession } from '../support/told-session.ts'

const saidIn = (events: readonly SessionEvent[]): readonly unknown[] =>
  events.flatMap((event): readonly unknown[] => {
    if (event.type === 'run_start') return [['run_start', event.runId, event.ids]]
    if (event.type === 'run_end') return [['run_end', event.runId, event.terminal.reason]]
    if (event.type !== 'message') return []
    const { message } = event
    const isSaid = message.type === 'assistant' || message.type === 'user'
    return isSaid
      ? [[message.uuid, message.message.content]]
      : message.type === 'result'
        ? [['result', message.uuid]]
        : []
  })

test('wherever a client was cut off, it tells the same messages in the same order, each once', async () => {
  const { events, records } = await toldSession()
  const results = events.flatMap((event) => (event.type === 'run_end' ? [event.result] : []))
  const [result] = results
  expect(result).toBeDefined()
  if (result === undefined) return
  for (let cut = 0; cut <= events.length; cut++) {
    const heard: SessionEvent[] = []
    const told = new Told('s', (event) => heard.push(event))
    for (const event of events.slice(0, cut)) told.onEvent(event)
    // Then no worker tells anything: the records do.
    for (const record of records) told.onRecord(record)
    told.end(result)
    expect(saidIn(heard), `cut after ${cut} events`).toEqual(saidIn(events))
  }
})

test('what a worker tells again that takes the session up, is not told again', async () => {
  const { events } = await toldSession()
  const heard: SessionEvent[] = []
  const told = new Told('s', (event) => heard.push(event))
  for (const event of [...events, ...events]) told.onEvent(event)
  expect(saidIn(heard)).toEqual(saidIn(events))
})
