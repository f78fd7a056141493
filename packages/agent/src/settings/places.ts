import { platform } from 'node:os'
import { join } from 'node:path'
import { configFolder } from '../paths.ts'

/** Who wrote a settings file: an administrator, the command line, the person for one project, the project, the person. */
export type SettingsLevel = 'managed' | 'flag' | 'local' | 'project' | 'user'

export interface SettingsPlace {
  readonly level: SettingsLevel
  readonly path: string
}

export interface PlacesOptions {
  readonly cwd: string
  /** The person's own folder. */
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Where settings files may be, the most urgent first; what the command line gives stands between `managed` and `local`.
 * At each level our own folder goes before the one that other agents use.
 */
export function settingsPlaces(options: PlacesOptions): readonly SettingsPlace[] {
  const { cwd } = options
  const own = (['halting', 'claude'] as const).map((name) => configFolder(name, options))
  // Who works in their own home has no project there: its settings are theirs.
  const projects = ['.halting', '.claude'].map((folder) => join(cwd, folder)).filter((folder) => !own.includes(folder))
  return [
    ...managedFolders().map((folder) => place('managed', folder, 'managed-settings.json')),
    ...projects.map((folder) => place('local', folder, 'settings.local.json')),
    ...projects.map((folder) => place('project', folder, 'settings.json')),
    ...own.map((folder) => place('user', folder, 'settings.json')),
  ]
}

function place(level: SettingsLevel, folder: string, name: string): SettingsPlace {
  return { level, path: join(folder, name) }
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
