import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { readBoundedFile } from '@halting/journal/files'
import type { Offer } from '../trust/offers.ts'
import type { LoadedSettings, LoadOptions } from './loaded-settings.ts'
import { settingsPlaces } from './places.ts'
import { largestSettingsBytes, readSettingsFiles, type ReadOptions } from './read-files.ts'

/**
 * Reads and merges the settings files, the highest precedence first (see `settingsPlaces`): single values by precedence; rules, directories, hooks
 * and prices of all files. A project's deny and ask rules always apply. What runs or loosens something applies only in a trusted folder, and some
 * settings never do.
 * @throws ConfigurationError for a file that cannot be read or is not JSON, and for one with invalid deny or ask rules, hooks or limits. Other
 * invalid values are reported and ignored. A file of another user that is not JSON is ignored with a warning, as only that user can fix it.
 */
export async function loadSettings(options: LoadOptions): Promise<LoadedSettings> {
  const files = await readSettingsFiles(options)
  // Most runs have no settings files, and therefore load no further code.
  if (files.length === 0) return { settings: {}, warnings: [], files: [], origins: [], ignored: [] }
  const { mergeReadFiles } = await import('./merge-read-files.ts')
  return mergeReadFiles(files, options)
}

/**
 * Whether settings of an administrator, the person or the command line may contain this setting, without parsing them. Files of projects are not
 * checked.
 */
export async function mentionsSetting(name: string, options: ReadOptions): Promise<boolean> {
  const { given = '', cwd } = options
  if (given.trimStart().startsWith('{') && given.includes(name)) return true
  const paths = settingsPlaces(options).flatMap(({ level, path }) =>
    level === 'managed' || level === 'user' ? [path] : [],
  )
  const named = given === '' || given.trimStart().startsWith('{') ? [] : [resolve(cwd, given)]
  const found = await Promise.all([...paths, ...named].map((path) => textOfFile(path)))
  return found.some((text) => text.includes(name))
}

/** Empty if the file cannot be read: loading the settings reports that. A pipe from the shell is not read here, because it can be read only once. */
async function textOfFile(path: string): Promise<string> {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true
      ? await readBoundedFile(path, largestSettingsBytes)
      : ''
  } catch {
    return ''
  }
}

/** What the files of a project would run or loosen, for the question about trust. */
export async function projectOffers(options: LoadOptions): Promise<readonly Offer[]> {
  const files = await readSettingsFiles({
    ...options,
    given: undefined,
    chosen: undefined,
    sources: ['project', 'local'],
  })
  const { offersIn } = await import('./merge-read-files.ts')
  return offersIn(files)
}
