import { type Dirent, opendirSync } from 'node:fs'

/** The first entries of a folder, as the system gives them, and whether there are no others. */
export interface FirstEntries {
  readonly entries: readonly Dirent[]
  readonly isAll: boolean
}

/** Looks at so many entries and at no more: a folder may have millions. Throws as `readdirSync` does. */
export function firstEntries(folder: string, most: number): FirstEntries {
  const entries: Dirent[] = []
  const open = opendirSync(folder, { bufferSize: Math.max(1, Math.min(most, 1_000)) })
  try {
    for (let entry = open.readSync(); entry !== null; entry = open.readSync()) {
      if (entries.length >= most) return { entries, isAll: false }
      entries.push(entry)
    }
  } finally {
    open.closeSync()
  }
  return { entries, isAll: true }
}
