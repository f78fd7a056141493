import type { Json, SdkResult } from '@halting/core'
import type { ObjectContext, ObjectSharedContext } from '@restatedev/restate-sdk'
import type { WorkNote } from './notes.ts'

/** Outcome of a request. */
export type RequestAnswer =
  /** The request is unknown, or has no outcome of its own. */
  | { readonly state: 'unknown' }
  /** The request waits: no run has received it yet. */
  | { readonly state: 'waiting' }
  /** The request is in a run that is still running. */
  | {
      readonly state: 'running'
      /** Id of the run. */
      readonly runId: string
    }
  | {
      readonly state: 'answered'
      /** Id of the run. */
      readonly runId: string
      /** The result message of the run. */
      readonly result: SdkResult
    }
  | {
      readonly state: 'refused'
      /** Why, in a sentence. */
      readonly because: string
    }

/** Whether the outcome is final. */
export function isFinal({ state }: RequestAnswer): boolean {
  return state === 'answered' || state === 'refused'
}

type StoredOutcome = { readonly runId: string } | { readonly because: string }

const requestKey = (id: string): string => `request/${id}`
const resultKey = (runId: string): string => `result/${runId}`

/** Stores what a note says about a request or a run. Returns true if a caller may have waited for it. */
export function storeAnswer(context: ObjectContext, note: WorkNote): boolean {
  switch (note.type) {
    case 'into_run':
      for (const id of note.ids) context.set<StoredOutcome>(requestKey(id), { runId: note.runId })
      return false
    case 'refused':
      context.set<StoredOutcome>(requestKey(note.id), { because: note.because })
      return true
    case 'result':
      // This cast is safe: the value is JSON.
      context.set(resultKey(note.runId), note.result as unknown as Json)
      return true
    case 'at':
    case 'attempt':
    case 'settled':
      return false
  }
}

export async function readRunResult(context: ObjectSharedContext, runId: string): Promise<SdkResult | undefined> {
  return (await context.get<SdkResult>(resultKey(runId))) ?? undefined
}

export async function readAnswer(context: ObjectSharedContext, id: string, isWaiting: boolean): Promise<RequestAnswer> {
  const stored = await context.get<StoredOutcome>(requestKey(id))
  if (stored === null) return { state: isWaiting ? 'waiting' : 'unknown' }
  if ('because' in stored) return { state: 'refused', because: stored.because }
  const { runId } = stored
  const result = await readRunResult(context, runId)
  return result === undefined ? { state: 'running', runId } : { state: 'answered', runId, result }
}
