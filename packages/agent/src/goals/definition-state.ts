import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { delimiter, dirname, join, relative, resolve } from 'node:path'
import { type Environment, firstEntries, isInside } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import { statsAt } from '../checkpoints/path-state.ts'
import type { DefinitionPlace, DefinitionRef } from './definitions.ts'
import { type FileHashes, type FileState, nothing, shortHash, smallTextAt } from './file-hashes.ts'
import { packageAbove, scriptsOf } from './package-scripts.ts'
import { includedMakefiles } from './included-makefiles.ts'
import { isPhony, justDefinition, makeDefinition } from './recipes.ts'

/** Returns the current state of a definition; empty if the definition does not exist. */
export function definitionState(ref: DefinitionRef, { root, env }: DefinitionPlace, hashes: FileHashes): FileState {
  const folder = join(root, ref.folder)
  switch (ref.kind) {
    case 'file':
      return hashes.stateOf(join(root, ref.name))
    case 'script':
      return scriptState(folder, ref.name, root)
    case 'scripts':
      return scriptsState(root, ref.name)
    case 'config':
      return configState(join(folder, ref.name), hashes)
    case 'make':
      return makeState(folder, ref.name)
    case 'just':
      return justState(folder, ref.name)
    case 'target':
      return targetState(folder, ref.name)
    case 'bin':
      return binState(folder, ref.name, root, env)
    case 'program':
      return programState(folder, ref.name, root, env, hashes)
  }
}

/** Whether a change of the definition is legitimate, not tampering. */
export function isAccepted({ kind }: DefinitionRef, before: FileState, now: FileState): boolean {
  if (before === now) return true
  switch (kind) {
    case 'bin':
      return isAcceptedBin(before, now)
    case 'program':
      return before === nothing
    case 'target':
      // If a file has the name of a target, make does nothing for the target. A file that existed before changes
      // nothing.
      return before === 'there'
    default:
      return false
  }
}

/**
 * Programs appear and disappear with installations. A program that hides another one, or that replaces a link, is not
 * accepted.
 */
function isAcceptedBin(before: FileState, now: FileState): boolean {
  if (before === 'elsewhere') return now === nothing
  return now === nothing || now === 'elsewhere' || before === nothing || before === 'file'
}

/** The name of a definition for the user and the model. */
export function definitionText({ kind, folder, name }: DefinitionRef, { root }: DefinitionPlace): string {
  const [file = '', target = ''] = name.split(/:(.*)/s)
  const at = (path: string): string => relative(root, path) || '.'
  switch (kind) {
    case 'file':
      return name
    case 'script':
      return `${at(join(packageAbove(join(root, folder)) ?? join(root, folder), 'package.json'))} (scripts.${name})`
    case 'scripts':
      return `package.json of the workspaces (scripts.${name})`
    case 'config':
      return `${join(folder, name)} (how scripts are run)`
    case 'make':
      return `${join(folder, makefileIn(join(root, folder), file) ?? 'Makefile')} (${target === '' ? 'the default target' : target})`
    case 'just':
      return `${at(justfileFrom(join(root, folder), file) ?? 'justfile')} (${target === '' ? 'the default recipe' : target})`
    case 'target':
      return `${join(folder, target)} (a file in the place of a target of make)`
    case 'bin':
      return join(folder, 'node_modules/.bin', name)
    case 'program':
      return `${name} (which program it is)`
  }
}

function scriptState(folder: string, name: string, root: string): FileState {
  const found = packageAbove(folder)
  const scripts = found === undefined ? undefined : scriptsOf(found)
  if (found === undefined || scripts?.[name] === undefined) return nothing
  const parts = [`pre${name}`, name, `post${name}`].map((part) => scripts[part] ?? null)
  return shortHash(JSON.stringify([relative(root, found), ...parts]))
}

const maxPackages = 500
const maxFolders = 5_000

function scriptsState(root: string, name: string): FileState {
  const states: string[] = []
  const folders = [root]
  for (let looked = 0; folders.length > 0 && looked < maxFolders && states.length < maxPackages; looked += 1) {
    const folder = folders.pop() ?? root
    const state =
      scriptsOf(folder) === undefined || packageAbove(folder) !== folder ? nothing : scriptState(folder, name, root)
    if (state !== nothing) states.push(`${relative(root, folder)} ${state}`)
    for (const entry of entriesIn(folder))
      if (entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
        folders.push(join(folder, entry.name))
  }
  return states.length === 0 ? nothing : shortHash(states.toSorted().join('\n'))
}

function entriesIn(folder: string): ReturnType<typeof firstEntries>['entries'] {
  try {
    return firstEntries(folder, 10_000).entries
  } catch {
    return []
  }
}

/** Settings of `.npmrc` about installing packages, which do not affect how scripts run. */
const ofInstalling =
  /^(?:(?:@[^:=]+:)?registry|\/\/.*|(?:save|hoist|public-hoist|shamefully|audit|fund|progress|color|loglevel|package-lock|lockfile|legacy-peer-deps|strict-peer|auto-install|engine-strict|prefer-|link-workspace|node-linker|fetch-|cache|proxy|https-proxy|noproxy|ca|cafile|strict-ssl|email|always-auth|minimum-release-age)[\w-]*(?:\[\])?)\s*=/

function configState(path: string, hashes: FileHashes): FileState {
  const text = smallTextAt(path)
  if (text === undefined) return hashes.stateOf(path)
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  const counted = lines.filter((line) => !/^(?:[#;]|$)/.test(line))
  if (path.endsWith('.npmrc')) return stateOfLines(counted.filter((line) => !ofInstalling.test(line)))
  if (path.endsWith('.yaml'))
    return stateOfLines(
      counted.filter((line) => /script|shell|node|path|env|hook|config|verify/i.test(line) && !line.startsWith('-')),
    )
  // Such a file may name a program that yarn delegates to, or files that are loaded.
  const named = [
    ...text.matchAll(/(?:yarnPath:|yarn-path|path:|plugins:|preload\s*=)\s*\[?\s*["']?([^\s"',\]]+)/g),
  ].map(([, file = '']) => join(dirname(path), file))
  return stateOfLines([...counted, ...named.map((file) => hashes.stateOf(file))])
}

/** A file without effective lines counts as missing. */
function stateOfLines(lines: readonly string[]): FileState {
  return lines.length === 0 ? nothing : shortHash(lines.join('\n'))
}

/** Returns the makefile that make uses; names earlier in the list take precedence. */
function makefileIn(folder: string, fileName: string): string | undefined {
  return fileName === ''
    ? ['GNUmakefile', 'makefile', 'Makefile'].find((name) => existsSync(join(folder, name)))
    : fileName
}

function makeState(folder: string, ref: string): FileState {
  const [fileName = '', target = ''] = ref.split(/:(.*)/s)
  const file = makefileIn(folder, fileName)
  const text = file === undefined ? undefined : smallTextAt(resolve(folder, file))
  if (file === undefined || text === undefined) return nothing
  const definition = makeDefinition(text, target === '' ? undefined : target, (name) =>
    smallTextAt(resolve(folder, name)),
  )
  const behind = includedMakefiles(
    definition.startsWith('whole\n')
      ? definition
      : `${text.match(/^[\w.-]+\s*[:?]*=.*$/gm)?.join('\n') ?? ''}\n${definition}`,
    folder,
  )
  const paths = behind.map((part, at) => (at % 2 === 0 ? relative(folder, part) : part))
  return shortHash([file, definition, ...paths].join('\n'))
}

function targetState(folder: string, ref: string): FileState {
  const [fileName = '', target = ''] = ref.split(/:(.*)/s)
  const file = makefileIn(folder, fileName)
  const text = file === undefined ? undefined : smallTextAt(resolve(folder, file))
  if (text === undefined || isPhony(text, target)) return 'phony'
  return statsAt(join(folder, target)) === undefined ? nothing : 'there'
}

function justfileFrom(folder: string, fileName: string): string | undefined {
  if (fileName !== '') return resolve(folder, fileName)
  for (let at = folder; ; at = dirname(at)) {
    const name = namesIn(at).find((one) => /^\.?justfile$/i.test(one))
    if (name !== undefined) return join(at, name)
    if (dirname(at) === at) return undefined
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch {
    return []
  }
}

function justState(folder: string, ref: string): FileState {
  const [fileName = '', recipe = ''] = ref.split(/:(.*)/s)
  const file = justfileFrom(folder, fileName)
  const text = file === undefined ? undefined : smallTextAt(file)
  if (file === undefined || text === undefined) return nothing
  const include = (name: string): string | undefined => smallTextAt(resolve(dirname(file), name))
  return shortHash(`${file.slice(folder.length)}\n${justDefinition(text, recipe === '' ? undefined : recipe, include)}`)
}

/**
 * Returns the state of a program in node_modules. A link counts by its target, and a file only as a file, since every
 * installation rewrites it.
 */
function binState(folder: string, name: string, root: string, env: Environment): FileState {
  for (let at = folder; ; at = dirname(at)) {
    const path = join(at, 'node_modules/.bin', name)
    const stats = statsAt(path)
    if (stats?.isSymbolicLink() === true) return `link ${shortHash(`${relative(root, at)}\0${targetOf(path)}`)}`
    if (stats !== undefined) return 'file'
    if (at === root || dirname(at) === at) break
  }
  // If npx started this program, the search path also contains package folders.
  const own = (place: string): boolean => place.endsWith('node_modules/.bin')
  return programIn(folder, name, env, own) === undefined ? nothing : 'elsewhere'
}

function targetOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

function programState(folder: string, name: string, root: string, env: Environment, hashes: FileHashes): FileState {
  const path = programIn(folder, name, env)
  if (path === undefined) return nothing
  // Reinstalling in the same folder is accepted; a program in another folder is a different program.
  return isInside(realPath(dirname(path)), realPath(root)) ? hashes.stateOf(path) : `outside ${shortHash(path)}`
}

function programIn(
  folder: string,
  name: string,
  env: Environment,
  isPassedOver: (place: string) => boolean = () => false,
): string | undefined {
  const places = (env['PATH'] ?? '').split(delimiter).filter((place) => !isPassedOver(place))
  return places.map((place) => resolve(folder, place, name)).find((path) => statsAt(path) !== undefined)
}
