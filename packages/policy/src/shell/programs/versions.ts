import { type Effect, unknownEffect } from '../effects.ts'
import type { ShellWord } from '../words.ts'
import { runsProgram } from '../shell-texts.ts'

/**
 * The argument with which a program prints its version and does nothing else. Excludes `yarn` and `pnpm`: before they parse arguments, they run
 * another version of themselves, or a file, that the project names.
 */
const versionArguments: Readonly<Record<string, string>> = {
  node: '-v --version',
  npm: '-v --version',
  python: '-V --version',
  python3: '-V --version',
  ruby: '--version',
  perl: '-v --version',
  cargo: '-V --version',
  rustc: '-V --version',
  tsc: '-v --version',
  deno: '-V --version',
  bun: '-v --version',
  go: 'version',
  java: '-version --version',
  gcc: '--version',
  'g++': '--version',
  clang: '--version',
  cmake: '--version',
  make: '-v --version',
  bash: '--version',
  docker: '-v --version',
}

/** Files by which version managers (asdf, mise, pyenv, rbenv and others) select the program, in the folder or in one above it. */
export const versionManagerFiles: readonly string[] =
  '.tool-versions mise.toml .mise.toml mise.local.toml .mise.local.toml .config/mise.toml .config/mise/config.toml mise/config.toml .mise/config.toml .rtx.toml .prototools .python-version .ruby-version .node-version .nvmrc .go-version .java-version .perl-version'.split(
    ' ',
  )
/** rustup downloads the toolchain that these name, or runs it from a folder. */
const rustupFiles = ['rust-toolchain', 'rust-toolchain.toml']

export function versionEffects(name: string, args: readonly ShellWord[]): readonly Effect[] {
  const [word] = args
  const isAsked =
    args.length === 1 && word?.kind === 'literal' && versionArguments[name]?.split(' ').includes(word.value) === true
  if (!isAsked) return unknownEffect(runsProgram)
  return [{ kind: 'chosen', by: versionManagerFiles, neverBy: name === 'cargo' || name === 'rustc' ? rustupFiles : [] }]
}

export const programsWithVersion: readonly string[] = Object.keys(versionArguments)
