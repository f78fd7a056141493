import type { CommandStep } from '@halting/policy/shell'
import { mayBeSameFile, pathFrom, stemOf } from './file-places.ts'
import { withoutWrappers, programName, type Words } from './wrapped-commands.ts'

const interpreters =
  /^(?:node|nodejs|tsx|ts-node|deno|bun|python[\d.]*|pypy3?|ruby|php|perl|lua[\d.]*|luajit|Rscript|julia|bash|sh|zsh|dash|ksh|elixir|escript|groovy|kotlin|scala|swift|dart|crystal|tclsh|osascript|pwsh|runghc|racket|guile|sbcl|ocaml)$/

/** Programs that compile and run the sources in the folder, by source extension. */
const runners: { readonly [name: string]: { readonly verb: string; readonly sources: RegExp } } = {
  go: { verb: 'run', sources: /\.go$/ },
  cargo: { verb: 'run', sources: /\.rs$/ },
  dotnet: { verb: 'run', sources: /\.(?:cs|fs|vb)$/ },
  swift: { verb: 'run', sources: /\.swift$/ },
  dart: { verb: 'run', sources: /\.dart$/ },
  zig: { verb: 'run', sources: /\.zig$/ },
  dune: { verb: 'exec', sources: /\.mli?$/ },
  stack: { verb: 'run', sources: /\.hs$/ },
  cabal: { verb: 'run', sources: /\.hs$/ },
  mix: { verb: 'run', sources: /\.exs?$/ },
}

const compiled = /\.(?:c|cc|cpp|cxx|rs|go|zig|f90|asm|s|S|hs|d|nim|ml)$/

// Spec R-VERI-10.
/** Whether the line runs a program that the run had changed, or an inline script that loads such a program. */
export function runsChanged(step: CommandStep, changedFiles: readonly string[]): boolean {
  if (changedFiles.length === 0) return false
  const rawWords = step.words.map((word) => word ?? '')
  const words = withoutWrappers(rawWords)
  const [first = '', ...args] = words
  const name = programName(first)
  if (args.some((word) => word === '--help' || word === '--version')) return false
  const isChanged = (path: string): boolean => {
    const placed = pathFrom(step.folder, path) ?? path
    return changedFiles.some((file) => mayBeSameFile(file, placed))
  }
  const runner = Object.hasOwn(runners, name) ? runners[name] : undefined
  if (runner?.verb === args[0] && runner !== undefined) return changedFiles.some((file) => runner.sources.test(file))
  const isModule = words !== rawWords && isPython(rawWords) && rawWords.includes('-m')
  if (isModule) return modulePaths(first).some(isChanged)
  if (interpreters.test(name)) return interpreted(args, step, isChanged, changedFiles)
  if (name === 'java') return args.some((word) => isChanged(word) || isChanged(`${word.replaceAll('.', '/')}.java`))
  if (name === 'source' || name === '.') return args.slice(0, 1).some(isChanged)
  // `uv run x.py`.
  if (words !== rawWords && /\.\w+$/.test(first)) return isChanged(first)
  if (!first.includes('/')) return false
  return (
    (isChanged(first) && !changesOthers.test(name)) ||
    changedFiles.some((file) => compiled.test(file) && stemOf(file) === name)
  )
}

function isPython(words: Words): boolean {
  return words.some((word) => /^python[\d.]*$/.test(programName(word)))
}

function modulePaths(name: string): Words {
  const path = name.replaceAll('.', '/')
  return [`${path}.py`, `${path}/__main__.py`, `${path}/__init__.py`, `src/${path}.py`, `src/${path}/__main__.py`]
}

/** Scripts whose names say that they change other files: running such a script proves nothing about its own result. */
const changesOthers =
  /^(?:apply|patch|fix|edit|update|modify|rewrite|replace|refactor|migrate|insert|add|remove|delete|convert|transform|rename|revert|cleanup|clean|format|install|setup|deploy)(?:[-_.]|$)/i

const inlineOption = /^-[a-zA-Z]*[cepE]$|^--(?:eval|print)$/

function interpreted(
  args: Words,
  { input }: CommandStep,
  isChanged: (path: string) => boolean,
  changedFiles: readonly string[],
): boolean {
  const inline = args.findIndex((word) => inlineOption.test(word))
  const at = args.findIndex((word) => !word.startsWith('-') && word !== 'run')
  if (inline >= 0 && (at < 0 || inline < at)) return loadsChanged(args[inline + 1] ?? '', changedFiles)
  const script = args[at]
  if (script === undefined || script === '-') return input !== '' && loadsChanged(input, changedFiles)
  if (changesOthers.test(programName(script))) return false
  // An option's value may be the next word: `node --import x.js src/main.js`.
  return args.slice(at, at + 3).some((word) => /[./]/.test(word) && isChanged(word)) || isChanged(script)
}

const longestScript = 20_000
const loading = /^.*\b(?:import|from|require|source|use|load|include)\b.*$/gm

/** Whether a text loads a changed file by its name without extension. */
function loadsChanged(script: string, changedFiles: readonly string[]): boolean {
  const lines = script.slice(0, longestScript).match(loading) ?? []
  if (lines.length === 0) return false
  const names = new Set(lines.join('\n').match(/[\w-]+/g))
  return changedFiles.some((file) => {
    const stem = stemOf(file)
    return names.has(
      stem === '__init__' || stem === 'index' || stem === 'mod' ? stemOf(file.slice(0, file.lastIndexOf('/'))) : stem,
    )
  })
}
