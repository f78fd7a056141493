import { ConfigurationError } from '@halting/core'
import type { FolderTrust } from '../trust/folder-trust.ts'
import type { Nearest } from './check-file.ts'
import type { DefaultLimits } from './fields.ts'
import type { Origin, Settings } from './merge.ts'
import type { SettingsLevel } from './places.ts'
import type { ReadOptions } from './read-files.ts'

/** The settings in force, with warnings and what is ignored. */
export interface LoadedSettings {
  /** The settings. */
  readonly settings: Settings
  /** What a person should know: a setting that is there and does not count. */
  readonly warnings: readonly string[]
  /** The files that were found, the most urgent first. */
  readonly files: readonly FoundFile[]
  /** Where each value comes from. */
  readonly origins: readonly Origin[]
  /** What does not count, and why. */
  readonly ignored: readonly Ignored[]
  /** Set where the project's files would have something run or loosened. */
  readonly trust?: FolderTrust
}

/** A settings file that is there, or what `--settings` gives. */
export interface FoundFile {
  /** Whose file it is. */
  readonly level: SettingsLevel
  /** Path of the file, or what stands for one. */
  readonly name: string
  /** Keys that count. */
  readonly served: readonly string[]
  /** Keys that this version does not serve yet, and keys that do not count in a file of this level. */
  readonly passedOver: readonly string[]
}

/** A setting that is ignored, where it was found, and why. */
export interface Ignored {
  /** Key of the setting. */
  readonly setting: string
  /** The value, as text. */
  readonly text: string
  /** The file that it is in. */
  readonly from: string
  /** Why it is ignored. */
  readonly why: string
  /** True where trust would let it in. */
  readonly forTrust: boolean
  /** Trust for one run does not let it in: `halting trust` must have named it. */
  readonly onlyByName?: boolean
}

/** Options of `loadSettings`. */
export interface LoadOptions extends ReadOptions {
  /** What trusts the folder for this run, such as `--trust`; the records decide when absent, and nothing does when false. */
  readonly trustedBy?: string | false | undefined
  /** Limits that hold where no file has one: a project does not raise them. */
  readonly defaultLimits?: DefaultLimits
  /** Names the key that was most likely meant by one that nobody knows. */
  readonly nearest?: Nearest
}

/** A settings file that stops the program, with all that is wrong in it. */
export class SettingsError extends ConfigurationError {
  /** What is wrong, a sentence each. */
  readonly problems: readonly string[]

  constructor(message: string, problems: readonly string[]) {
    super(message)
    this.problems = problems
  }
}
