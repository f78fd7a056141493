import { readdirSync } from 'node:fs'
import { platform } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { ConfigurationError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { configFolder, realPath } from '@halting/journal/files'

/** Who wrote a settings file: an administrator, the command line, the person for one project, the project, the person. */
export type SettingsLevel = 'managed' | 'flag' | 'local' | 'project' | 'user'

export interface SettingsPlace {
  readonly level: SettingsLevel
  readonly path: string
}

/** The levels that `--setting-sources` chooses among; an administrator's and the command line's always count. */
export type SettingSource = 'user' | 'project' | 'local'

/** Where the files of settings are looked for. */
export interface PlacesOptions {
  /** Working directory; project files are looked for from here upwards. */
  readonly cwd: string
  /** The person's own folder. */
  readonly home: string
  /** The environment, for variables that move the files. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where an administrator's files are, the most urgent first; where the system has them when absent. */
  readonly managedFolders?: readonly string[]
}

/**
 * Where settings files may be, the most urgent first; what the command line gives stands between `managed` and `local`.
 * At each level our own folder goes before the one that other agents use.
 * @throws ConfigurationError for a folder of an administrator that cannot be read.
 */
export function settingsPlaces(options: PlacesOptions): readonly SettingsPlace[] {
  const { cwd } = options
  const own = (['halting', 'claude'] as const).map((name) => configFolder(name, options))
  // Who works in their own home has no project there: its settings are theirs.
  const ownEnds = new Set(own.map((folder) => realPath(folder)))
  const projects = ['.halting', '.claude']
    .map((folder) => join(cwd, folder))
    .filter((folder) => !own.includes(folder) && !isPersonalFolder(folder, ownEnds))
  return [
    ...(options.managedFolders ?? managedFolders()).flatMap(managedPlaces),
    ...projects.map((folder) => place('local', folder, 'settings.local.json')),
    ...projects.map((folder) => place('project', folder, 'settings.json')),
    ...own.map((folder) => place('user', folder, 'settings.json')),
  ]
}

/** The same folder by another way; a link within a project is the project's, wherever it leads. */
function isPersonalFolder(folder: string, own: ReadonlySet<string>): boolean {
  return own.has(join(realPath(dirname(folder)), basename(folder)))
}

function place(level: SettingsLevel, folder: string, name: string): SettingsPlace {
  return { level, path: join(folder, name) }
}

/** Beside the file a folder of further ones, of which the later by name goes before the earlier, and each before the file. */
function managedPlaces(folder: string): readonly SettingsPlace[] {
  const dropIns = join(folder, 'managed-settings.d')
  const names = filesIn(dropIns).filter((name) => name.endsWith('.json') && !name.startsWith('.'))
  return [
    ...names
      .toSorted()
      .toReversed()
      .map((name) => place('managed', dropIns, name)),
    place('managed', folder, 'managed-settings.json'),
  ]
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    // What an administrator wrote binds: it is not passed over.
    throw new ConfigurationError(`The settings in ${folder} cannot be read: ${messageOf(thrown)}.`)
  }
}

function managedFolders(): readonly string[] {
  switch (platform()) {
    case 'darwin':
      return ['/Library/Application Support/Halting', '/Library/Application Support/ClaudeCode']
    case 'win32':
      return ['C:\\Program Files\\Halting', 'C:\\Program Files\\ClaudeCode']
    default:
      return ['/etc/halting', '/etc/claude-code']
  }
}
