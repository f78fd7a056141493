import type { Model } from '@halting/core'
import type { AnsweredBy } from './fake.ts'
import { columns } from './columns.ts'
import type { Column } from './columns.ts'
import type { Wire } from './wire.ts'

/** How a cell of the table was shown: who answered in its test; or why there is none. */
export type Cell = AnsweredBy | { readonly no: string }

/** One row of the table: a service, and what is shown of it. */
export interface Row {
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
  /** What a request has that lets the service search. */
  readonly searchTool?: string
  /** Id of the call in the request that answers it, where the protocol has ids. */
  readonly hasCallIds?: boolean
  /** How the service is signed in to, where it is not by a bearer key. */
  readonly signIn?: { readonly header: string; readonly begins: string }
}

/** A row, and how its service is reached. */
export interface Service extends Row {
  readonly modelAt: (url: string) => Model
}

/** Every cell shown with aimock. */
export const allByAimock = {
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
} as const satisfies Row['cells']

/** The id by which the model of a row is priced. */
export const pricedAs = 'test/model'

/** What aimock writes for reasoning that it encrypts, but for an id at its end. */
export const encryptedByAimock = Buffer.from('aimock-encrypted-reasoning:').toString('base64').slice(0, -1)

/** Every cell shown with a server of ours. */
export const allByUs = {
  text: 'own',
  tools: 'own',
  'parallel calls': 'own',
  'reasoning carried over': 'own',
  images: 'own',
  PDFs: 'own',
  cache: 'own',
  'structured output': 'own',
  'web search': 'own',
  abort: 'own',
  errors: 'own',
  money: 'own',
} as const satisfies Row['cells']

/** The columns that a row has a test for, and who answers in it. */
export function shownBy({ cells }: Row): readonly (readonly [Column, AnsweredBy])[] {
  return columns.flatMap((column) => {
    const cell = cells[column]
    return typeof cell === 'string' ? [[column, cell] as const] : []
  })
}
