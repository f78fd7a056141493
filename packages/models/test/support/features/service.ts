import type { Model } from '@halting/core'
import type { AnsweredBy } from './fake.ts'
import type { Column } from './columns.ts'
import type { Wire } from './wire.ts'

/** How a cell of the table was shown: who answered in its test; or why there is none. */
export type Cell = AnsweredBy | { readonly no: string }

/** One row of the table: a service, and how it is reached. */
export interface Service {
  readonly title: string
  readonly wire: Wire
  readonly cells: Readonly<Record<Column, Cell>>
  /** The package that it is reached through; our own adapter when absent. */
  readonly package?: string
  /** Where aimock has what this service has elsewhere. */
  readonly pathAtAimock?: (path: string) => string
  /** What goes back with reasoning in the next request, where aimock answers; the signature of our own server otherwise. */
  readonly carriedByAimock?: string
  /** What the second request holds of reasoning that our own server wrote; its signature when absent. */
  readonly carried?: string
  /** What marks the prompt for the cache in a request; the service caches by itself when absent. */
  readonly cacheMark?: string
  /** Id of the call in the request that answers it, where the protocol has ids. */
  readonly hasCallIds?: boolean
  /** How the service is signed in to, where it is not by a bearer key. */
  readonly signIn?: { readonly header: string; readonly begins: string }
  modelAt(url: string): Model
}

/** Every cell shown with aimock. */
export const allByAimock: Service['cells'] = {
  text: 'aimock',
  tools: 'aimock',
  'parallel calls': 'aimock',
  'reasoning carried over': 'aimock',
  images: 'aimock',
  PDFs: 'aimock',
  cache: 'own',
  'structured output': 'aimock',
  'web search': 'own',
  abort: 'aimock',
  errors: 'aimock',
  money: 'aimock',
}

/** The id by which the model of a row is priced. */
export const pricedAs = 'test/model'
