import type { JsonObject } from '@halting/core'
import type { ControlResponse, Control } from './control.ts'
import type { HostSession } from './host-session.ts'

/** What handlers of requests receive. */
export interface RequestContext {
  readonly hostSession: HostSession
  readonly control: Control
}

/** Handles the requests of one subtype. @throws an error whose message becomes the error of the response. */
export type RequestHandler = (fields: JsonObject, serving: RequestContext) => ControlResponse | Promise<ControlResponse>
