import { wellFormed } from '../values/well-formed.ts'

/**
 * The position of a chunk in the stream of its run. Chunks that are derived from the record alone are counted: `step` is
 * the number of the last of them, so a replay assigns the same numbers. Chunks between them, such as text deltas, have a
 * number in `part`, which only this process knows.
 */
export interface StreamPosition {
  readonly runId: string
  readonly step: number
  /** 0 for a counted chunk. */
  readonly part: number
}

const ids = new WeakMap<object, string>()

/**
 * The id of a chunk of `toUIMessageStream`, for the `id` field of a server-sent event. A client that reconnects sends
 * the last one as `Last-Event-ID`; pass it as `after`. Undefined for any other object.
 */
export function eventIdOf(chunk: object): string | undefined {
  return ids.get(chunk)
}

export function setEventId(chunk: object, { runId, step, part }: StreamPosition): void {
  ids.set(chunk, `${encodeURIComponent(wellFormed(runId))}:${step}${part === 0 ? '' : `.${part}`}`)
}

/** Parses the position in an id. Undefined for an invalid id: a client may send anything. */
export function positionOf(id: string): StreamPosition | undefined {
  const [, run = '', step = '', part = '0'] = /^([^:\s]{0,1024}):(\d{1,15})(?:\.(\d{1,15}))?$/.exec(id) ?? []
  if (step === '') return undefined
  try {
    return { runId: decodeURIComponent(run), step: Number(step), part: Number(part) }
  } catch {
    return undefined
  }
}
