import { ConfigurationError } from '@halting/core'
import type { FolderTrust } from '../trust/folder-trust.ts'
import type { Nearest } from './check-file.ts'
import type { DefaultLimits } from './fields.ts'
import type { Origin, Settings } from './merge.ts'
import type { SettingsLevel } from './places.ts'
import type { ReadOptions } from './read-files.ts'

/** The settings in effect, with warnings and ignored settings. */
export interface LoadedSettings {
  /** The settings. */
  readonly settings: Settings
  /** Warnings for the person, for example about an ignored setting. */
  readonly warnings: readonly string[]
  /** The files that were found, the highest precedence first. */
  readonly files: readonly FoundFile[]
  /** The origin of each value. */
  readonly origins: readonly Origin[]
  /** Ignored settings, and why. */
  readonly ignored: readonly Ignored[]
  /** Set if the project's files would run or loosen something. */
  readonly trust?: FolderTrust
}

/** An existing settings file, or the value of `--settings`. */
export interface FoundFile {
  /** The level of the file: whose file it is. */
  readonly level: SettingsLevel
  /** Path of the file, or what replaces it. */
  readonly name: string
  /** Keys that take effect. */
  readonly served: readonly string[]
  /** Keys that this version does not support yet, and keys that have no effect in a file of this level. */
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
  /** Whether trusting the folder would make it effective. */
  readonly forTrust: boolean
  /** Whether trust for one run is not enough: `halting trust` must have shown this setting by name. */
  readonly onlyByName?: boolean
}

/** Options of `loadSettings`. */
export interface LoadOptions extends ReadOptions {
  /** What trusts the folder for this run, such as `--trust`. Default: the stored records decide. False: the folder is not trusted. */
  readonly trustedBy?: string | false | undefined
  /** Limits that apply if no file sets one: a project cannot raise them. */
  readonly defaultLimits?: DefaultLimits
  /** Finds the known key that an unknown one was most likely meant to be. */
  readonly nearest?: Nearest
}

/** A settings file that prevents the start, with all of its problems. */
export class SettingsError extends ConfigurationError {
  /** The problems, a sentence each. */
  readonly problems: readonly string[]

  constructor(message: string, problems: readonly string[]) {
    super(message)
    this.problems = problems
  }
}
