import { storageFormat } from '../engine/format.ts'

const formatField = 'halting.format'
const takesOverField = 'halting.takes-over'

/** What a worker tells of itself to others, by way of the engine. */
export interface WorkerMetadata {
  /** Of what it keeps of sessions; undefined for a worker that did not say. */
  readonly format: number | undefined
  /** It goes on with sessions that run elsewhere, from their next lap. */
  readonly takesOver: boolean
}

/** As the engine keeps it with the service. */
export function sessionMetadata(takesOver: boolean): Record<string, string> {
  return { [formatField]: String(storageFormat), ...(takesOver && { [takesOverField]: 'yes' }) }
}

export function readMetadata(metadata: Readonly<Record<string, string>> | null | undefined): WorkerMetadata {
  const format = metadata?.[formatField]
  return { format: format === undefined ? undefined : Number(format), takesOver: metadata?.[takesOverField] === 'yes' }
}
