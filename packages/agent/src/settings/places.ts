import { platform } from 'node:os'
import { join } from 'node:path'

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
export function settingsPlaces({ cwd, home, env }: PlacesOptions): readonly SettingsPlace[] {
  const own = env.HALTING_CONFIG_DIR ?? join(home, '.halting')
  const others = env.CLAUDE_CONFIG_DIR ?? join(home, '.claude')
  return [
    ...managedFolders().map((folder) => place('managed', folder, 'managed-settings.json')),
    ...['.halting', '.claude'].map((folder) => place('local', join(cwd, folder), 'settings.local.json')),
    ...['.halting', '.claude'].map((folder) => place('project', join(cwd, folder), 'settings.json')),
    ...[own, others].map((folder) => place('user', folder, 'settings.json')),
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
