import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { boundedFile } from '@halting/journal/files'
import type { Offer } from '../trust/offers.ts'
import type { LoadedSettings, LoadOptions } from './loaded-settings.ts'
import { settingsPlaces } from './places.ts'
import { largestSettingsBytes, readSettingsFiles, type ReadOptions } from './read-files.ts'

/**
 * Reads the settings files, the most urgent first (see `settingsPlaces`), and merges them: single values by precedence,
 * rules, directories, hooks and prices of all of them. A project's file adds its deny and ask rules; what runs or loosens
 * counts only where its folder is trusted, and some settings never.
 * @throws ConfigurationError for a file that is not readable or no JSON, and for one whose deny or ask rules, hooks or
 * limits cannot be read. Other values of a wrong kind are told, and do not count. A file that is no JSON and belongs to
 * another user is that user's to mend: it is passed over, and told.
 */
export async function loadSettings(options: LoadOptions): Promise<LoadedSettings> {
  const files = await readSettingsFiles(options)
  // Most runs find nothing to look at, and load nothing for it.
  if (files.length === 0) return { settings: {}, warnings: [], files: [], origins: [], ignored: [] }
  const { mergeReadFiles } = await import('./merge-read-files.ts')
  return mergeReadFiles(files, options)
}

/**
 * Whether an administrator, the person or the command line may have this setting: most have not, and their files need not be parsed. Files of projects are
 * not looked at.
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

/** '' for what cannot be read: whoever loads the settings says why. What a shell hands in can be read once, and is left for who loads it. */
async function textOfFile(path: string): Promise<string> {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true
      ? await boundedFile(path, largestSettingsBytes)
      : ''
  } catch {
    return ''
  }
}

/** What the files of a project would have run or loosened, for the question about trust. */
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
