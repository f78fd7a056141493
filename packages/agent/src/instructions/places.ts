import { statSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { bothEnds, isInside } from '@halting/policy/files'
import { configFolder, realPath } from '@halting/journal/files'
import { pluginRoot } from '../plugins/root-variable.ts'
import type { PlacesOptions, SettingSource } from '@halting/policy/settings'

/** Where to look for what people wrote for agents. */
export interface BriefingPlaces extends PlacesOptions {
  /** Whose files count; all when absent. */
  readonly sources?: readonly SettingSource[] | undefined
  /** Plugins of the session. */
  readonly plugins?: readonly PluginPlaces[] | undefined
}

/** Where a plugin has what it brings. */
export interface PluginPlaces {
  /** It stands before the names of what it brings: `name:command`. */
  readonly name: string
  /** Its folder, as it was named; absolute. */
  readonly path: string
  /** Folders, and single files, below it. */
  readonly places: { readonly [kind in Kind]: readonly string[] }
}

/** A file of instructions that may be there. */
export interface InstructionPlace {
  readonly level: SettingSource
  readonly path: string
  /** Imports lead out of it where the folder is trusted, and only there; undefined for the person's own files. */
  readonly root: string | undefined
}

/** The names in one folder, the least urgent first. */
const namesInFolder: readonly (readonly [name: string, level: SettingSource])[] = [
  ['AGENTS.md', 'project'],
  ['CLAUDE.md', 'project'],
  [join('.claude', 'CLAUDE.md'), 'project'],
  ['CLAUDE.local.md', 'local'],
]

/** The person's own files, and then those from the outermost folder to the working directory: what comes later counts more. */
export function instructionPlaces(options: BriefingPlaces): readonly InstructionPlace[] {
  const { cwd } = options
  const own = [join(configFolder('halting', options), 'AGENTS.md'), join(configFolder('claude', options), 'CLAUDE.md')]
  const places: InstructionPlace[] = [
    ...own.map((path) => ({ level: 'user' as const, path, root: undefined })),
    // Below their home the person's own files lie around every project.
    ...foldersAround(cwd)
      .flatMap((folder) => placesIn(folder))
      .filter(({ path }) => !own.includes(path)),
  ]
  return places.filter(({ level }) => counts(level, options))
}

/** Those of one folder. */
export function placesIn(folder: string): readonly InstructionPlace[] {
  const base = join(folder, sep)
  return namesInFolder.map(([name, level]) => ({ level, path: `${base}${name}`, root: folder }))
}

export function counts(level: SettingSource, { sources }: Pick<BriefingPlaces, 'sources'>): boolean {
  return sources === undefined || sources.includes(level)
}

/** From the root of the file system to the folder itself. */
export function foldersAround(folder: string): readonly string[] {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [...foldersAround(parent), folder]
}

export type Kind = 'commands' | 'skills' | 'agents'

/** A folder of commands, skills or agents; of a plugin also a single one of these. */
export interface WrittenPlace {
  readonly level: 'user' | 'project' | 'plugin'
  readonly path: string
  /** What lies in it leads nowhere else; undefined for the person's own. */
  readonly root: string | undefined
  readonly plugin?: PluginPlaces
}

/** Where commands, skills and agents are, the most urgent first. */
export function foldersOf(kind: Kind, options: BriefingPlaces): readonly WrittenPlace[] {
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
  // Who works in their own home has no project there.
  const counting = folders.filter(({ level, path }) => counts(level, options) && (level === 'user' || !own.has(path)))
  const ofPlugins = plugins.flatMap((plugin) =>
    plugin.places[kind].map((path): WrittenPlace => ({ level: 'plugin', path, root: plugin.path, plugin })),
  )
  return [...counting, ...ofPlugins]
}

/** What one file of a plugin says, with the folder of the plugin in the place of its name. */
export function withPluginRoot(text: string, { plugin }: WrittenPlace): string {
  return plugin === undefined ? text : text.replaceAll(`\${${pluginRoot}}`, () => plugin.path)
}

/** What a file brings is called so: that of a plugin has the plugin's name before it. */
export function nameIn({ plugin }: WrittenPlace, name: string): string {
  return plugin === undefined ? name : `${plugin.name}:${name}`
}

/** Where the person keeps skills, and plugins: what these say leads to files beside them. */
export function ownSkillFolders(options: BriefingPlaces): readonly string[] {
  const own = foldersOf('skills', options).flatMap(({ level, path }) => (level === 'user' ? [path] : []))
  return [...own, ...(options.plugins ?? []).flatMap((plugin) => foldersOfPlugin(plugin, options.cwd))]
}

/** A plugin that is the project, or lies around it, is no folder of its own: what it brings is. */
function foldersOfPlugin({ path, places }: PluginPlaces, cwd: string): readonly string[] {
  const isAround = isInside(realPath(cwd), realPath(path))
  const own = ['.claude-plugin', 'hooks'].map((name) => join(path, name))
  return (isAround ? [...Object.values(places).flat(), ...own] : [path]).flatMap(bothEnds)
}

/** The hook that tells the model of the folder: what it says is the program's own, and not that of a person's hook. */
export const briefingHook = 'halting:folder'

/** Whether there is anything to read: a run without it loads nothing for it. */
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
      // What cannot be looked at is told when it is read.
      return true
    }
  })
}

/** Whether somebody described agents: a run without them loads nothing for it. */
export function hasAgents(options: BriefingPlaces): boolean {
  return foldersOf('agents', options).some(({ path }) => {
    try {
      return statSync(path, { throwIfNoEntry: false }) !== undefined
    } catch {
      return true
    }
  })
}
