import type { Command, PipelineNode, Redirection } from 'unbash'
import { readScript } from './read-script.ts'
import { shellWords } from './words.ts'
import { formsOf } from './wrappers.ts'

const longestCommand = 50_000

/**
 * The meaning of exit code 1 of a command line if it is an answer and not a failure, as for grep, diff and test. Only
 * for one command, or the last one of a single pipe: after a list it is unclear which command returned the exit code.
 */
export function answerOfExitOne(command: string): string | undefined {
  if (command.length > longestCommand) return undefined
  const last = lastCommandOf(command)
  if (last === undefined) return undefined
  if (last.type === 'TestCommand') return isFalse
  // A failing redirect also exits with 1.
  if (last.type !== 'Command' || last.name === undefined || !last.redirects.every(cannotFail)) return undefined
  const [name, ...args] = namesOf(last)
  if (name === 'git') return answerOfGit(args)
  return name !== undefined && Object.hasOwn(answers, name) ? answers[name] : undefined
}

const noMatch = 'no match'
const differ = 'they differ'
const isFalse = 'it is false'

const answers: Readonly<Record<string, string>> = {
  grep: noMatch,
  egrep: noMatch,
  fgrep: noMatch,
  zgrep: noMatch,
  rg: noMatch,
  diff: differ,
  cmp: differ,
  test: isFalse,
  '[': isFalse,
}

function lastCommandOf(command: string): Exclude<PipelineNode, { readonly type: 'Pipeline' }> | undefined {
  const { script, problem } = readScript(command)
  const [statement] = script?.commands ?? []
  if (problem !== undefined || script?.commands.length !== 1 || statement === undefined) return undefined
  if (statement.background === true) return undefined
  const { command: whole } = statement
  if (whole.type === 'AndOr') return undefined
  if (whole.type !== 'Pipeline') return whole
  return whole.prefixes.some(({ type }) => type === 'Negation') ? undefined : whole.commands.at(-1)
}

function cannotFail(redirect: Redirection): boolean {
  if (redirect.type !== 'Redirect') return true
  const to = redirect.target?.text ?? ''
  return to === '/dev/null' || (/^[<>]&$/.test(redirect.operator) && /^[12]$/.test(to))
}

/** The words of the command, without its wrappers; empty if one is unknown. */
function namesOf({ name, args }: Command): readonly string[] {
  const words = name === undefined ? [] : [name, ...args].flatMap((part) => shellWords(part))
  const inner = formsOf(words).at(-1) ?? []
  // The exit code summarizes those of several commands.
  if (words[0]?.kind !== 'literal' || inner[0]?.kind !== 'literal' || words.some(({ value }) => value === 'xargs'))
    return []
  return inner.map(({ value }) => value)
}

function answerOfGit([command, ...args]: readonly string[]): string | undefined {
  if (command === 'grep') return noMatch
  const isAnswer = command === 'diff' && args.some((arg) => /^--(?:exit-code|quiet|no-index)$/.test(arg))
  return isAnswer ? differ : undefined
}
