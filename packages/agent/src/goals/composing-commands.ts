import type { OutlinedCommand, OutlineWord } from '@halting/policy/shell'
import * as texts from './check-texts.ts'

/** Programs that transform their input: their output does not prove what the input was. */
const transformers: ReadonlySet<string> = new Set(
  (
    'base64 base32 basenc xxd uudecode openssl gpg rev tr awk gawk mawk nawk bc dc seq yes m4 envsubst iconv figlet toilet cowsay ' +
    'gunzip zcat gzip bunzip2 bzcat bzip2 unxz xzcat xz unzstd zstdcat zstd unzip expect script'
  ).split(' '),
)

/**
 * Programs that rearrange their input. They are harmless on the output of a program, but not on text of the command
 * line.
 */
const rearrangers: ReadonlySet<string> = new Set(
  'cut paste fold fmt column join tac sort shuf nl pr split xargs'.split(' '),
)

const interpreters =
  /^(?:python[\d.]*|pypy3?|node|nodejs|deno|bun|tsx|ts-node|perl|ruby|php|lua|tclsh|osascript|rscript|julia|elixir|groovy|scala|ghci?|sqlite3|psql|mysql|jq|yq)$/
const inlineCode = /^(?:-[a-zA-Z]*[cepErR]|--eval|--print|--execute|--command|eval)(?:=|$)/

/** Returns why the output of a command is only its own text, in any form; undefined if it contains anything else. */
export function whyOnlyPrintsItsText({ words, hasInput }: OutlinedCommand): string | undefined {
  const [first, ...args] = words
  if (first === undefined) return undefined
  const name = programIn(first)
  if (transformers.has(name)) return texts.transformsInput(name)
  if (name === 'sed') return isPlainSed(args) ? undefined : texts.transformsInput('sed')
  if (name === 'jq' || name === 'yq')
    return args.every(({ text, kind }) => kind === 'literal' && !text.includes('"'))
      ? undefined
      : texts.printsScript(name)
  if (!interpreters.test(name)) return undefined
  if (args.some(({ text }) => inlineCode.test(text))) return texts.inlineScript(name)
  const hasScript = args.some(({ text }) => !text.startsWith('-'))
  return hasInput && !hasScript ? texts.scriptFromInput(name) : undefined
}

/**
 * Returns why a line combines its own text with programs that rearrange it; undefined if the line does not do that.
 */
export function whyRearrangesItsText(commands: readonly OutlinedCommand[], line: string): string | undefined {
  const names = commands.map(({ words: [first] }) => (first === undefined ? '' : programIn(first)))
  const rearranger = names.find((name) => rearrangers.has(name))
  const hasText =
    /<<</.test(line) || /<<-?\s*['"\\]?\w/.test(line) || names.some((name) => name === 'echo' || name === 'printf')
  return hasText && rearranger !== undefined ? texts.rearranges(rearranger) : undefined
}

export function programIn({ text }: OutlineWord): string {
  return text.replace(/^.*\//s, '').toLowerCase()
}

/** Whether sed only prints lines selected by number. */
function isPlainSed(args: readonly OutlineWord[]): boolean {
  const [script, ...options] = args.toSorted(
    (one, other) => Number(one.text.startsWith('-')) - Number(other.text.startsWith('-')),
  )
  const isScript = (word: OutlineWord | undefined): boolean =>
    word?.kind === 'literal' && /^(?:(?:\d+|\$)(?:,(?:\d+|\$))?[pq];?\s*)+$/.test(word.text)
  return (
    isScript(script) &&
    options.every(({ text }) => !text.startsWith('-') || /^(?:-n|-E|-r|-s|--quiet|--silent)$/.test(text))
  )
}
