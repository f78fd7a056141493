import { dirname } from 'node:path'
import { realPath } from '@halting/journal/files'
import type { Offer } from './offers.ts'
import { isTooBroad, readTrust, trustedByClaude, type TrustOwner } from './trust-store.ts'

/** Whether the settings of a folder apply, and to what extent. */
export interface FolderTrust {
  /** The real path of the folder. */
  readonly folder: string
  /** Whether the folder is trusted. */
  readonly trusted: boolean
  /** What makes the folder trusted, or why it is not trusted. */
  readonly because: string
  /** Whether an offer of the folder may take effect. */
  lets(offer: Offer): boolean
  /** A problem of the stored records, for the person. */
  readonly problem?: string
}

/** The folder in question, and whether it is trusted for this run only. */
export interface TrustQuestion extends TrustOwner {
  /** What makes the folder trusted for this run, such as `--trust`. False: it is not trusted in this run, whatever the records say. */
  readonly once?: string | false | undefined
}

/**
 * Whether the folder is trusted, by its real path only. Reads nothing in the folder, so no file in it and no `.git` that
 * points elsewhere can influence the result. The record of the closest folder above applies; for the same folder our
 * record precedes that of Claude Code.
 */
export async function folderTrust(question: TrustQuestion): Promise<FolderTrust> {
  const folder = realPath(question.cwd)
  if (question.once === false) return { folder, trusted: false, because: 'trust: false', lets: () => false }
  const { records, problem } = await readTrust(question)
  const own = records.get(folder)
  const named = new Set(own?.trusted === true ? own.offers : [])
  const common = { folder, ...(problem !== undefined && { problem }) }
  const isNamed = ({ id }: Offer): boolean => named.has(id)
  if (question.once !== undefined) {
    return {
      ...common,
      trusted: true,
      because: `${question.once} for this run`,
      lets: (offer) => !offer.needsNaming || isNamed(offer),
    }
  }
  const claudes = await trustedByClaude(question)
  for (let at = folder; ; at = dirname(at)) {
    const record = records.get(at)
    if (!isTooBroad(at, question)) {
      if (record !== undefined && !record.trusted)
        return { ...common, trusted: false, because: `trust in ${at} was revoked`, lets: () => false }
      if (record !== undefined && at === folder)
        return { ...common, trusted: true, because: `you trusted it${since(record.since)}`, lets: isNamed }
      if (record !== undefined)
        return { ...common, trusted: true, because: `you trusted ${at}${since(record.since)}`, lets: needsNoName }
      if (claudes.has(at))
        return { ...common, trusted: true, because: `trusted as ${at} in Claude Code`, lets: needsNoName }
    }
    if (dirname(at) === at) break
  }
  return { ...common, trusted: false, because: 'not reviewed yet', lets: () => false }
}

function needsNoName({ needsNaming }: Offer): boolean {
  return !needsNaming
}

function since(date: string): string {
  return date === '' ? '' : ` on ${date.slice(0, 10)}`
}
