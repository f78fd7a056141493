import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { configFolder } from '../paths.ts'
import type { PlacesOptions, SettingSource } from '../settings/places.ts'

/** Where to look for what people wrote for agents. */
export interface BriefingPlaces extends PlacesOptions {
  /** Whose files count; all when absent. */
  readonly sources?: readonly SettingSource[] | undefined
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
  ['.claude/CLAUDE.md', 'project'],
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
  return namesInFolder.map(([name, level]) => ({ level, path: join(folder, name), root: folder }))
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

/** Folders of commands, of skills and of agents, the most urgent first. */
export function foldersOf(
  kind: Kind,
  options: BriefingPlaces,
): readonly { readonly level: SettingSource; readonly path: string }[] {
  const folders = [
    ...['.halting', '.claude'].map((name) => ({ level: 'project' as const, path: join(options.cwd, name, kind) })),
    ...(['halting', 'claude'] as const).map((name) => ({
      level: 'user' as const,
      path: join(configFolder(name, options), kind),
    })),
  ]
  const own = new Set(folders.filter(({ level }) => level === 'user').map(({ path }) => path))
  // Who works in their own home has no project there.
  return folders.filter(({ level, path }) => counts(level, options) && (level === 'user' || !own.has(path)))
}

/** Where the person keeps skills: what these say leads to files beside them. */
export function ownSkillFolders(options: BriefingPlaces): readonly string[] {
  return foldersOf('skills', options).flatMap(({ level, path }) => (level === 'user' ? [path] : []))
}

/** Whether there is anything to read: a run without it loads nothing for it. */
export function hasBriefing(options: BriefingPlaces): boolean {
  if (options.sources?.length === 0) return false
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
