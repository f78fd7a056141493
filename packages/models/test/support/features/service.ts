import type { Model } from '@halting/core'
import type { AnsweredBy } from './fake.ts'
import { columns } from './columns.ts'
import type { Column } from './columns.ts'
import type { Wire } from './wire.ts'

/** How a cell of the table is tested: who answers, or why there is no test. */
export type Cell = AnsweredBy | { readonly no: string }

/** One row of the table: a service, and the results of its tests. */
export interface Row {
  readonly title: string
  readonly wire: Wire
  readonly cells: Readonly<Record<Column, Cell>>
  /** The provider package; absent for our own adapter. */
  readonly package?: string
  /** The path at aimock that corresponds to a path of this service. */
  readonly pathAtAimock?: (path: string) => string
  /**
   * The text of aimock that is sent back with reasoning in the next request. Otherwise the signature of our own server
   * is used.
   */
  readonly carriedByAimock?: string
  /** The part of the second request that comes from reasoning of our own server; its signature if absent. */
  readonly carried?: string
  /** The cache mark of a request; absent if the service caches automatically. */
  readonly cacheMark?: string
  /** The field of a request that lets the service search. */
  readonly searchTool?: string
  /** Whether the request with the result has the id of the call. */
  readonly hasCallIds?: boolean
  /** How a program signs in to the service, if not with a bearer key. */
  readonly signIn?: { readonly header: string; readonly begins: string }
}

/** A row, and how its service is reached. */
export interface Service extends Row {
  readonly modelAt: (url: string) => Model
}

/** Tests every cell with aimock. */
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

/** The id that determines the price of the model of a row. */
export const pricedAs = 'test/model'

/** The text of aimock for encrypted reasoning, without the id at its end. */
export const encryptedByAimock = Buffer.from('aimock-encrypted-reasoning:').toString('base64').slice(0, -1)

/** Tests every cell with a server of ours. */
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

/** The tested columns of a row, and who answers in them. */
export function shownBy({ cells }: Row): readonly (readonly [Column, AnsweredBy])[] {
  return columns.flatMap((column) => {
    const cell = cells[column]
    return typeof cell === 'string' ? [[column, cell] as const] : []
  })
}
