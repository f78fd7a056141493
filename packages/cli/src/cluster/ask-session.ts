import { setTimeout as pause } from 'node:timers/promises'
import type { Opening, OpenQuestion, SessionRequest } from '@halting/restate'
import type { SdkResult, Terminal } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { UsageError } from '../usage-error.ts'
import type { ClusterClient } from './client.ts'

export interface Asked {
  readonly sessionId: string
  readonly opening: Opening
  /** What goes before it, such as limits. */
  readonly before: readonly SessionRequest[]
  /** What begins a run, or joins the one that goes on. */
  readonly request: Extract<SessionRequest, { readonly type: 'prompt' | 'resume' }>
  /** Counts once under this name, however often it is sent. */
  readonly id: string
  /** Interrupts the run: what it comes to then is still waited for. */
  readonly signal: AbortSignal
  /** A person has to say something to a call. Told once for each. */
  /** The work does not go on, and why. Told once for each reason. */
  readonly onStalled: (message: string) => void
  readonly onQuestion: (question: OpenQuestion) => void
  readonly onRecords: (records: readonly StepRecord[]) => void
}

export interface Answered {
  readonly terminal: Terminal
  /** Of the run that took the request. */
  readonly result: SdkResult | undefined
}

const shortestWaitMs = 100
const longestWaitMs = 1_000

/** Asks a session of a cluster for something, and waits for the end of the run that it went into. */
export async function askSession(client: ClusterClient, asked: Asked): Promise<Answered> {
  const { sessionId, opening, before, request, id, signal, onStalled, onQuestion, onRecords } = asked
  let read = (await client.status(sessionId)).records
  for (const [index, each] of before.entries())
    await client.request(sessionId, { id: `${id}-${index}`, request: each, opening })
  await client.request(sessionId, { id, request, opening })
  const told = new Set<string>()
  let isTaken = request.type === 'resume'
  let isInterrupted = false
  let waitMs = shortestWaitMs
  for (;;) {
    if (signal.aborted && !isInterrupted) {
      isInterrupted = true
      await client.request(sessionId, { id: `${id}-interrupt`, request: { type: 'interrupt' } })
    }
    const status = await client.status(sessionId)
    const records = status.records > read ? await client.records(sessionId, read) : []
    read += records.length
    onRecords(records)
    const { stalled } = status
    if (stalled !== undefined && !told.has(stalled.message)) onStalled(stalled.message)
    if (stalled !== undefined) told.add(stalled.message)
    for (const question of status.questions) {
      if (!told.has(question.key)) onQuestion(question)
      told.add(question.key)
    }
    for (const [index, record] of records.entries()) {
      isTaken ||= takes(record, id)
      if (isTaken && record.type === 'end' && record.scope === '')
        return { terminal: record.terminal, result: await resultOf(client, sessionId, records.slice(index)) }
    }
    if (!isTaken && status.state === 'idle') await refuseRefused(client, sessionId, id)
    waitMs = records.length > 0 ? shortestWaitMs : Math.min(longestWaitMs, waitMs * 1.5)
    await pause(waitMs)
  }
}

/** A message is on record under the name that it was handed in with. */
function takes(record: StepRecord, id: string): boolean {
  if (record.type !== 'start' && record.type !== 'lap' && record.type !== 'control') return false
  return JSON.stringify(record).includes(JSON.stringify(id))
}

async function refuseRefused(client: ClusterClient, sessionId: string, id: string): Promise<void> {
  const refused = (await client.done(sessionId))?.refused.find((each) => each.id === id)
  if (refused !== undefined) throw new UsageError(`The session ${sessionId} refused it: ${refused.because}`)
}

/** The result of the run that ended with the first of these records: it is told when all work of the session is over. */
async function resultOf(
  client: ClusterClient,
  sessionId: string,
  since: readonly StepRecord[],
): Promise<SdkResult | undefined> {
  for (let left = 100; left > 0; left--) {
    const done = await client.done(sessionId)
    const status = await client.status(sessionId)
    const results = done?.results ?? []
    if (status.state === 'idle' && results.length > 0) {
      const later = since.slice(1).filter((record) => record.type === 'end' && record.scope === '').length
      return results.at(-1 - later)
    }
    await pause(shortestWaitMs)
  }
  return undefined
}
