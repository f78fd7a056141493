import type { JsonObject } from '@halting/core'
import type { ControlResponse, Control } from './control.ts'
import type { HostSession } from './host-session.ts'

/** What a request is served with. */
export interface RequestContext {
  readonly hostSession: HostSession
  readonly control: Control
}

/** Serves requests of one subtype. @throws what the host is told as the error */
export type RequestHandler = (fields: JsonObject, serving: RequestContext) => ControlResponse | Promise<ControlResponse>
