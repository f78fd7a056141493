import type { Fields } from './fields.ts'
import type { ReadFile } from './read-files.ts'

/** A file, and the part of it that counts. */
export interface EffectiveFile {
  readonly file: ReadFile
  readonly fields: Fields
}

/** Puts down where a value comes from. */
export type RecordOrigin = (setting: string, value: unknown, file: ReadFile) => void
