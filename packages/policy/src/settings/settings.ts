import type { Offer } from '../trust/offers.ts'
import type { LoadedSettings, LoadOptions } from './loaded-settings.ts'
import { readSettingsFiles } from './read-files.ts'

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
  const { weighFiles } = await import('./weigh-files.ts')
  return weighFiles(files, options)
}

/** What the files of a project would have run or loosened, for the question about trust. */
export async function projectOffers(options: LoadOptions): Promise<readonly Offer[]> {
  const files = await readSettingsFiles({
    ...options,
    given: undefined,
    chosen: undefined,
    sources: ['project', 'local'],
  })
  const { offersIn } = await import('./weigh-files.ts')
  return offersIn(files)
}
