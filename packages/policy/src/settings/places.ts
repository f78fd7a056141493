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

/** The levels that `--setting-sources` selects; those of an administrator and of the command line always apply. */
export type SettingSource = 'user' | 'project' | 'local'

/** Where settings files are searched. */
export interface PlacesOptions {
  /** Working directory; project files are searched from here upwards. */
  readonly cwd: string
  /** The person's own folder. */
  readonly home: string
  /** The environment, as variables can move the files. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Folders of an administrator's files, the highest precedence first. Default: those of the system. */
  readonly managedFolders?: readonly string[]
}

/**
 * Where settings files may be, the highest precedence first; the command line comes between `managed` and `local`. At each level our own folder
 * precedes that of other agents.
 * @throws ConfigurationError for an administrator's folder that cannot be read.
 */
export function settingsPlaces(options: PlacesOptions): readonly SettingsPlace[] {
  const { cwd } = options
  const own = (['halting', 'claude'] as const).map((name) => configFolder(name, options))
  // In the home folder itself there is no project: its settings are personal.
  const ownEnds = new Set(own.map((folder) => realPath(folder)))
  const projects = ['.halting', '.claude']
    .map((folder) => join(cwd, folder))
    .filter((folder) => !own.includes(folder) && !isPersonalFolder(folder, ownEnds))
  return [
    ...(options.managedFolders ?? managedFolders()).flatMap(managedPlaces),
    ...projects.map((folder) => settingsPlace('local', folder, 'settings.local.json')),
    ...projects.map((folder) => settingsPlace('project', folder, 'settings.json')),
    ...own.map((folder) => settingsPlace('user', folder, 'settings.json')),
  ]
}

/** Whether it is the personal folder under another path. A link inside a project belongs to the project, wherever it leads. */
function isPersonalFolder(folder: string, own: ReadonlySet<string>): boolean {
  return own.has(join(realPath(dirname(folder)), basename(folder)))
}

function settingsPlace(level: SettingsLevel, folder: string, name: string): SettingsPlace {
  return { level, path: join(folder, name) }
}

/** The administrator's file, and a folder of further files. The last file by name has the highest precedence, and all of them precede the file. */
function managedPlaces(folder: string): readonly SettingsPlace[] {
  const dropIns = join(folder, 'managed-settings.d')
  const names = filesIn(dropIns).filter((name) => name.endsWith('.json') && !name.startsWith('.'))
  return [
    ...names
      .toSorted()
      .toReversed()
      .map((name) => settingsPlace('managed', dropIns, name)),
    settingsPlace('managed', folder, 'managed-settings.json'),
  ]
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    // An administrator's settings are binding: they are never skipped.
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
