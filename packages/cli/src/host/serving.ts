import type { JsonObject } from '@halting/core'
import type { Answered, Control } from './control.ts'
import type { Opened } from './opened.ts'

/** What a request is served with. */
export interface Serving {
  readonly opened: Opened
  readonly control: Control
}

/** Serves requests of one subtype. @throws what the host is told as the error */
export type ServeOne = (fields: JsonObject, serving: Serving) => Answered | Promise<Answered>
