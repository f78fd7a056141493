import { statSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { bothEnds, isInside } from '@halting/policy/files'
import { configFolder, realPath } from '@halting/journal/files'
import { pluginRoot } from '../plugins/root-variable.ts'
import type { PlacesOptions, SettingSource } from '@halting/policy/settings'

/** Where instructions, commands, skills and agents are searched. */
export interface BriefingPlaces extends PlacesOptions {
  /** Which sources apply (default: all). */
  readonly sources?: readonly SettingSource[] | undefined
  /** Plugins of the session. */
  readonly plugins?: readonly PluginPlaces[] | undefined
}

/** The folders of a plugin. */
export interface PluginPlaces {
  /** Prefix of its commands, skills and agents: `name:command`. */
  readonly name: string
  /** Absolute path of the plugin, as named by the caller. */
  readonly path: string
  /** Folders and files of the plugin, by kind. */
  readonly places: { readonly [kind in Kind]: readonly string[] }
}

/** A possible instruction file. */
export interface InstructionPlace {
  readonly level: SettingSource
  readonly path: string
  /** Imports from outside this folder need trust; undefined for the user's own files. */
  readonly root: string | undefined
}

/** The file names in one folder, in ascending precedence. */
const namesInFolder: readonly (readonly [name: string, level: SettingSource])[] = [
  ['AGENTS.md', 'project'],
  ['CLAUDE.md', 'project'],
  [join('.claude', 'CLAUDE.md'), 'project'],
  ['CLAUDE.local.md', 'local'],
]

/** The user's files, then those from the outermost folder to the working directory, in ascending precedence. */
export function instructionPlaces(options: BriefingPlaces): readonly InstructionPlace[] {
  const { cwd } = options
  const own = [join(configFolder('halting', options), 'AGENTS.md'), join(configFolder('claude', options), 'CLAUDE.md')]
  const places: InstructionPlace[] = [
    ...own.map((path) => ({ level: 'user' as const, path, root: undefined })),
    // Below the home folder, the user's files are in a parent of every project.
    ...foldersAround(cwd)
      .flatMap((folder) => placesIn(folder))
      .filter(({ path }) => !own.includes(path)),
  ]
  return places.filter(({ level }) => isLevelEnabled(level, options))
}

/** The possible files of one folder. */
export function placesIn(folder: string): readonly InstructionPlace[] {
  const base = join(folder, sep)
  return namesInFolder.map(([name, level]) => ({ level, path: `${base}${name}`, root: folder }))
}

export function isLevelEnabled(level: SettingSource, { sources }: Pick<BriefingPlaces, 'sources'>): boolean {
  return sources === undefined || sources.includes(level)
}

/** Returns the folders from the root of the file system to the folder itself. */
export function foldersAround(folder: string): readonly string[] {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [...foldersAround(parent), folder]
}

export type Kind = 'commands' | 'skills' | 'agents'

/** A folder of commands, skills or agents; for a plugin also a single file or skill folder. */
export interface PromptPlace {
  readonly level: 'user' | 'project' | 'plugin'
  readonly path: string
  /** Links must not lead out of this folder; undefined for the user's own. */
  readonly root: string | undefined
  readonly plugin?: PluginPlaces
}

/** Folders of commands, skills and agents, in descending precedence. */
export function foldersOf(kind: Kind, options: BriefingPlaces): readonly PromptPlace[] {
  const { cwd, plugins = [] } = options
  const folders = [
    ...['.halting', '.claude'].map((name) => ({
      level: 'project' as const,
      path: join(cwd, name, kind),
      root: cwd,
    })),
    ...(['halting', 'claude'] as const).map((name) => ({
      level: 'user' as const,
      path: join(configFolder(name, options), kind),
      root: undefined,
    })),
  ]
  const own = new Set(folders.filter(({ level }) => level === 'user').map(({ path }) => path))
  // If the working directory is the home folder, it is not a project.
  const counting = folders.filter(
    ({ level, path }) => isLevelEnabled(level, options) && (level === 'user' || !own.has(path)),
  )
  const ofPlugins = plugins.flatMap((plugin) =>
    plugin.places[kind].map((path): PromptPlace => ({ level: 'plugin', path, root: plugin.path, plugin })),
  )
  return [...counting, ...ofPlugins]
}

/** Replaces the variable for the plugin's folder in the text of one of its files. */
export function withPluginRoot(text: string, { plugin }: PromptPlace): string {
  return plugin === undefined ? text : text.replaceAll(`\${${pluginRoot}}`, () => plugin.path)
}

/** The effective name of an item: plugins add their name as prefix. */
export function componentName({ plugin }: PromptPlace, name: string): string {
  return plugin === undefined ? name : `${plugin.name}:${name}`
}

/** Returns the folders of the user's skills and of plugins, whose files refer to adjacent files. */
export function ownSkillFolders(options: BriefingPlaces): readonly string[] {
  const own = foldersOf('skills', options).flatMap(({ level, path }) => (level === 'user' ? [path] : []))
  return [...own, ...(options.plugins ?? []).flatMap((plugin) => foldersOfPlugin(plugin, options.cwd))]
}

/** If the plugin is the project, or contains it, only its item folders are readable, not the plugin as a whole. */
function foldersOfPlugin({ path, places }: PluginPlaces, cwd: string): readonly string[] {
  const isAround = isInside(realPath(cwd), realPath(path))
  const own = ['.claude-plugin', 'hooks'].map((name) => join(path, name))
  return (isAround ? [...Object.values(places).flat(), ...own] : [path]).flatMap(bothEnds)
}

/** Id of the hook that describes the folder to the model; its messages are not those of a user's hook. */
export const briefingHook = 'halting:folder'

/** Whether there are instructions, commands, skills or notes to read; otherwise nothing is loaded. */
export function hasBriefing(options: BriefingPlaces): boolean {
  if (options.sources?.length === 0 && (options.plugins ?? []).length === 0) return false
  const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined
  const paths = [
    ...instructionPlaces(options).map(({ path }) => path),
    ...(['commands', 'skills'] as const).flatMap((kind) => foldersOf(kind, options).map(({ path }) => path)),
    ...foldersAround(options.cwd).map((folder) => join(folder, '.git')),
  ]
  return paths.some((path) => {
    try {
      return isThere(path)
    } catch {
      // Errors are reported when the briefing is read.
      return true
    }
  })
}

/** Whether agents are defined; otherwise nothing is loaded. */
export function hasAgents(options: BriefingPlaces): boolean {
  return foldersOf('agents', options).some(({ path }) => {
    try {
      return statSync(path, { throwIfNoEntry: false }) !== undefined
    } catch {
      return true
    }
  })
}
