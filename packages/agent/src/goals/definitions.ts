import { basename, dirname, join, relative, resolve } from 'node:path'
import { type Environment, isInside, isInsideAny } from '@halting/policy/files'
import { plainCommands } from '@halting/policy/shell'
import { statsAt } from '../checkpoints/path-state.ts'
import { entriesOf, packageAbove, scriptsOf } from './package-scripts.ts'
import { isTestFile } from './test-files.ts'

/**
 * A definition that determines what a check runs. It is recorded, and inspected again in each round. `file`: a script
 * that
 * is run. `script`: a script of package.json. `scripts`: the same in all packages of the workspace. `config`: a file
 * that determines how package managers run scripts. `make`, `just`: what a target runs. `target`: a file with the name
 * of a make target. `bin`: a program of node_modules. `program`: a program of the search path.
 */
export interface DefinitionRef {
  readonly kind: 'file' | 'script' | 'scripts' | 'config' | 'make' | 'just' | 'target' | 'bin' | 'program'
  /** The folder of the lookup, relative to the workspace. */
  readonly folder: string
  readonly name: string
}

/** The command of a check, and its folder. */
export interface CheckedCommand {
  readonly command: string
  readonly cwd: string
}

export interface DefinitionPlace {
  /** Root folder of the workspace. */
  readonly root: string
  readonly env: Environment
}

const deepest = 5
const most = 200

// Spec R-GOAL-35.
/**
 * The definitions that determine what a command runs, as far as its words show: scripts of the workspace, and
 * definitions behind runners.
 */
export function definitionsOf({ command, cwd }: CheckedCommand, place: DefinitionPlace): readonly DefinitionRef[] {
  const finder = new DefinitionFinder(place)
  const { BASH_ENV } = place.env
  if (BASH_ENV !== undefined) finder.addFile(resolve(cwd, BASH_ENV))
  finder.add(command, cwd, { depth: 0, packageFolder: undefined })
  return finder.found
}

interface Around {
  readonly depth: number
  /** The folder of the package that has the script; undefined for the command itself. */
  readonly packageFolder: string | undefined
}

class DefinitionFinder {
  readonly #root: string
  readonly #home: string | undefined
  readonly #seen = new Map<string, DefinitionRef>()

  constructor({ root, env }: DefinitionPlace) {
    this.#root = root
    this.#home = env['HOME'] || undefined
  }

  get found(): readonly DefinitionRef[] {
    return [...this.#seen.values()]
  }

  add(command: string, cwd: string, around: Around): void {
    let folder = cwd
    for (const { inner } of plainCommands(command).commands) {
      const words = withoutRunner(inner)
      const [name] = words
      if (inner[0] !== undefined) this.#addProgram(inner[0], folder, around)
      if (name === undefined) continue
      if (name !== inner[0]) this.#addProgram(name, folder, around)
      // After a change to an unknown folder, names are resolved as if the folder had not changed.
      if (name === 'cd' || name === 'pushd') folder = resolve(folder, words[1] ?? '.')
      else this.#addCommand(name, words.slice(1), folder, around)
    }
  }

  addFile(path: string): void {
    // Missing files may be written by the agent and are not protected.
    if (!isInsideAny(path, [this.#root]) || statsAt(path) === undefined) return
    this.#put({ kind: 'file', folder: '', name: relative(this.#root, path) })
  }

  #put(ref: DefinitionRef): boolean {
    const key = `${ref.kind}\0${ref.folder}\0${ref.name}`
    if (this.#seen.has(key) || this.#seen.size >= most) return false
    this.#seen.set(key, ref)
    return true
  }

  #folder(path: string): string {
    return relative(this.#root, path)
  }

  #addProgram(name: string, folder: string, { packageFolder }: Around): void {
    if (name.includes('/')) return this.addFile(resolve(folder, name))
    if (packageFolder === undefined) this.#put({ kind: 'program', folder: this.#folder(folder), name })
    // Package scripts search node_modules first.
    else this.#put({ kind: 'bin', folder: this.#folder(packageFolder), name })
  }

  #addCommand(name: string, args: readonly (string | undefined)[], folder: string, around: Around): void {
    const program = basename(name)
    const script = scriptOperand(program, args)
    if (script !== undefined) this.#addScriptFile(resolve(folder, script), around)
    if (program === 'make' || program === 'gmake') this.#addMake(args, folder)
    else if (program === 'just') this.#addJust(args, folder)
    else if (isPackageManager(program)) this.#addPackageScript(program, args, folder, around)
  }

  #addScriptFile(path: string, { packageFolder }: Around): void {
    // In a package script, the file may be the program under development or a test. Such a file is not a definition.
    if (packageFolder !== undefined && (isTestFile(relative(packageFolder, path)) || isEntry(path, packageFolder)))
      return
    this.addFile(path)
  }

  #addMake(args: readonly (string | undefined)[], cwd: string): void {
    const { folder, file, operands } = runnerArguments(args, cwd, {
      folder: /^(?:-C|--directory)$/,
      file: /^(?:-f|--file|--makefile)$/,
    })
    const targets = operands.filter((word) => !word.includes('='))
    for (const target of targets.length === 0 ? [''] : targets) {
      this.#put({ kind: 'make', folder: this.#folder(folder), name: `${file ?? ''}:${target}` })
      if (target !== '') this.#put({ kind: 'target', folder: this.#folder(folder), name: `${file ?? ''}:${target}` })
    }
  }

  #addJust(args: readonly (string | undefined)[], cwd: string): void {
    const { folder, file, operands } = runnerArguments(args, cwd, {
      folder: /^(?:-d|--working-directory)$/,
      file: /^(?:-f|--justfile)$/,
    })
    const recipe = operands.find((word) => !word.includes('=')) ?? ''
    this.#put({ kind: 'just', folder: this.#folder(folder), name: `${file ?? ''}:${recipe}` })
  }

  #addPackageScript(manager: string, args: readonly (string | undefined)[], cwd: string, { depth }: Around): void {
    const { folder, operands, isEverywhere } = runnerArguments(args, cwd, {
      folder: /^(?:--prefix|-C|--dir|--cwd)$/,
      everywhere: /^(?:-w|--workspaces?|-ws|-r|--recursive|--filter|-F)(?:=|$)|^workspaces?$/,
    })
    const name = scriptName(manager, operands)
    if (name === undefined) return
    if (isEverywhere) this.#put({ kind: 'scripts', folder: '', name })
    const packageFolder = packageAbove(folder)
    if (packageFolder === undefined) return
    const scripts = scriptsOf(packageFolder) ?? {}
    // The agent may create a missing script.
    if (scripts[name] === undefined) return
    if (!this.#put({ kind: 'script', folder: this.#folder(folder), name })) return
    for (let at = packageFolder; ; at = dirname(at)) {
      for (const file of configFiles) this.#put({ kind: 'config', folder: this.#folder(at), name: file })
      if (at === this.#root || !isInside(at, this.#root)) break
    }
    // The user's own files apply to every project.
    if (this.#home !== undefined)
      for (const file of homeConfigFiles) this.#put({ kind: 'config', folder: this.#folder(this.#home), name: file })
    if (depth >= deepest) return
    for (const part of [`pre${name}`, name, `post${name}`]) {
      const text = scripts[part]
      if (text !== undefined) this.add(text, packageFolder, { depth: depth + 1, packageFolder })
    }
  }
}

/** Files that determine the shell and the programs for scripts. */
const configFiles: readonly string[] = ['.npmrc', '.yarnrc', '.yarnrc.yml', 'pnpm-workspace.yaml', 'bunfig.toml']

const homeConfigFiles: readonly string[] = ['.npmrc', '.yarnrc', '.yarnrc.yml', '.bunfig.toml']

function isPackageManager(program: string): boolean {
  return ['npm', 'pnpm', 'yarn', 'bun'].includes(program)
}

const runWords = /^(?:run|run-script|rum|urn)$/
const ownScripts: Readonly<Record<string, string>> = {
  t: 'test',
  tst: 'test',
  test: 'test',
  start: 'start',
  stop: 'stop',
  restart: 'restart',
}

/** The script that a package manager is asked to run; undefined for its other commands. */
function scriptName(manager: string, operands: readonly string[]): string | undefined {
  const words = operands[0] === 'workspace' ? operands.slice(2) : operands
  const [first = '', second] = words
  if (runWords.test(first)) return second
  // `bun test` is bun's own test runner.
  if (manager === 'bun' && first === 'test') return undefined
  if (ownScripts[first] !== undefined) return ownScripts[first]
  return manager === 'npm' || first === '' ? undefined : first
}

interface RunnerForms {
  readonly folder: RegExp
  readonly file?: RegExp
  readonly everywhere?: RegExp
}

/** Options of a runner that take a value, apart from those that set the folder. */
const withValue = /^(?:-w|--workspace|--filter|-F|--loglevel|-j|-l|-o|-W|-I|--shell|--set|--dotenv-path)$/

function runnerArguments(
  args: readonly (string | undefined)[],
  cwd: string,
  forms: RunnerForms,
): {
  readonly folder: string
  readonly file: string | undefined
  readonly operands: readonly string[]
  readonly isEverywhere: boolean
} {
  let folder = cwd
  let file: string | undefined
  let isEverywhere = false
  const operands: string[] = []
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at]
    if (word === '--') break
    if (word === undefined) continue
    const [option = '', own] = word.startsWith('--') ? word.split(/=(.*)/s) : [word]
    const next = own ?? args[at + 1]
    isEverywhere ||= forms.everywhere?.test(word) === true
    if (forms.folder.test(option)) folder = resolve(folder, next ?? '.')
    else if (forms.file?.test(option) === true) file = next
    else if (!word.startsWith('-')) operands.push(word)
    if (own === undefined && (forms.folder.test(option) || forms.file?.test(option) === true || withValue.test(option)))
      at += 1
  }
  return { folder, file, operands, isEverywhere }
}

/** The command that a runner such as `npx` or `env` runs. */
function withoutRunner(words: readonly (string | undefined)[]): readonly (string | undefined)[] {
  const [name, ...args] = words
  const skipped = (
    rest: readonly (string | undefined)[],
    isSkipped: (word: string) => boolean,
  ): readonly (string | undefined)[] => {
    const at = rest.findIndex((word) => word === undefined || !isSkipped(word))
    return at < 0 ? words : rest.slice(at)
  }
  if (name === 'env' || name === 'cross-env') return skipped(args, (word) => /^\w+=/.test(word) || word === '-i')
  if (name === 'npx' || name === 'bunx') return skipped(args, (word) => word.startsWith('-'))
  if (isPackageManager(name ?? '') && /^(?:exec|x)$/.test(args[0] ?? ''))
    return skipped(args.slice(1), (word) => word.startsWith('-'))
  return words
}

const interpreters =
  /^(?:ba|z|da|k|fi|)sh$|^(?:python|pypy|ruby|perl|php|lua)[\d.]*$|^(?:node|nodejs|deno|bun|tsx|ts-node|Rscript|pwsh|julia|source|\.)$/
/** With these options, an interpreter runs something other than a file. */
const noFile = /^(?:-m|-c|-e|-p|--eval|--print|--test|-r|--check)$/
const interpreterValues =
  /^(?:-r|--require|--import|--loader|--experimental-loader|-W|-X|-I|-o|-O|-C|--conditions|--config|--project|-P|--env-file)$/

/** The file that an interpreter runs. */
function scriptOperand(program: string, args: readonly (string | undefined)[]): string | undefined {
  if (!interpreters.test(program)) return undefined
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at]
    if (word === undefined) return undefined
    if ((program === 'deno' || program === 'bun') && word === 'run') continue
    if (!word.startsWith('-')) return word
    if (noFile.test(word) && !(word === '-r' && /^(?:node|tsx|ts-node|ruby)/.test(program))) return undefined
    if (interpreterValues.test(word)) at += 1
  }
  return undefined
}

/** Whether a file is an entry of the package according to its package.json, and so is under development. */
function isEntry(path: string, packageFolder: string): boolean {
  return entriesOf(packageFolder).some((entry) => join(packageFolder, entry) === path)
}
