import { storageFormat } from '../engine/format.ts'

const formatField = 'halting.format'
const takesOverField = 'halting.takes-over'

/** What a worker announces to other workers by way of the engine. */
export interface WorkerMetadata {
  /** Its storage format; undefined if the worker does not announce it. */
  readonly format: number | undefined
  /** Whether it takes over sessions that run elsewhere, from their next iteration. */
  readonly takesOver: boolean
}

/** Encodes the metadata for the engine. */
export function sessionMetadata(takesOver: boolean): Record<string, string> {
  return { [formatField]: String(storageFormat), ...(takesOver && { [takesOverField]: 'yes' }) }
}

export function readMetadata(metadata: Readonly<Record<string, string>> | null | undefined): WorkerMetadata {
  const format = metadata?.[formatField]
  return { format: format === undefined ? undefined : Number(format), takesOver: metadata?.[takesOverField] === 'yes' }
}
