import type { JsonObject } from '@halting/core'
import { Control } from '../../../src/host/control.ts'

interface FakeHost {
  readonly control: Control
  /** The requests that it received, in order. */
  readonly sentRequests: () => readonly JsonObject[]
  readonly ids: () => readonly string[]
  /** Ids of the requests that were cancelled. */
  readonly cancelled: () => readonly unknown[]
  /** The system messages that it received, in order. */
  readonly notices: () => readonly JsonObject[]
  /** Answers the request at this index. */
  readonly answer: (at: number, response: JsonObject) => void
  readonly refuse: (at: number, error: string) => void
}

/** A host at the other end of the protocol, which answers as the test says. */
export function fakeHost(reply?: (request: JsonObject) => JsonObject | undefined): FakeHost {
  const lines: JsonObject[] = []
  const requests = (): readonly JsonObject[] => lines.filter(({ type }) => type === 'control_request')
  const ids = (): readonly string[] => requests().map((line) => JSON.stringify(line['request_id']).slice(1, -1))
  const control: Control = new Control({
    write(line) {
      lines.push(line)
      // `request` is always an object.
      const response = line['type'] === 'control_request' ? reply?.(line['request'] as JsonObject) : undefined
      if (response === undefined) return
      const id = line['request_id'] ?? null
      setImmediate(() =>
        control.receive({ type: 'control_response', response: { subtype: 'success', request_id: id, response } }),
      )
    },
    serve: () => ({}),
    emit: (line) => void lines.push(line),
    warn: () => undefined,
  })
  const respond = (at: number, response: JsonObject): void => {
    const id = ids()[at] ?? 'none'
    control.receive({ type: 'control_response', response: { request_id: id, ...response } })
  }
  return {
    control,
    ids,
    // As above: `request` is always an object.
    sentRequests: () => requests().map(({ request }) => request as JsonObject),
    cancelled: () => lines.filter(({ type }) => type === 'control_cancel_request').map(({ request_id: id }) => id),
    notices: () => lines.filter(({ type }) => type === 'system'),
    answer: (at, response) => respond(at, { subtype: 'success', response }),
    refuse: (at, error) => respond(at, { subtype: 'error', error }),
  }
}
