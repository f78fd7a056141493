import type { Fields } from './fields.ts'
import type { ReadFile } from './read-files.ts'

/** A file, and those of its fields that take effect. */
export interface EffectiveFile {
  readonly file: ReadFile
  readonly fields: Fields
}

/** Records the origin of a value. */
export type RecordOrigin = (setting: string, value: unknown, file: ReadFile) => void
