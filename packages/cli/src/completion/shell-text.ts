import type { Candidates, CompletedCommand, CompletionModel, flagValues } from './completion-model.ts'

/** Quotes a text for bash and zsh with single quotes, so that nothing is expanded. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** A shell command that lists the session IDs of this folder. The pattern ensures that only UUIDs are printed. */
export const listSessions =
  'command halting sessions --json </dev/null 2>/dev/null | grep -oE \'"sessionId": ?"[0-9a-f-]{36}"\' | grep -oE "[0-9a-f-]{36}"'

/** The names of commands and subcommands, in the order of the model. */
export function placeNames({ commands }: CompletionModel): readonly string[] {
  return commands.map(({ name }) => name).filter((name) => name !== '')
}

/** The flags of a command without the flags of runs, and whether it accepts those too. */
export function ownFlags(
  { flags }: CompletedCommand,
  { commands }: CompletionModel,
): { readonly own: CompletedCommand['flags']; readonly hasRuns: boolean } {
  const ofRuns = new Set(commands.find(({ name }) => name === '')?.flags.flatMap(({ names }) => names))
  const names = new Set(flags.flatMap((flag) => flag.names))
  const hasRuns = [...ofRuns].every((name) => names.has(name))
  return { own: hasRuns ? flags.filter((flag) => !flag.names.every((name) => ofRuns.has(name))) : flags, hasRuns }
}

/** The branches of a `case`; patterns with the same body share a branch. */
export function branches(rows: readonly (readonly [pattern: string, body: string])[], indent: string): string {
  const byBody = new Map<string, string[]>()
  for (const [pattern, body] of rows) byBody.set(body, [...(byBody.get(body) ?? []), pattern])
  return [...byBody].map(([body, patterns]) => `${indent}${patterns.map(quoted).join('|')}) ${body} ;;\n`).join('')
}

/** Shell code that sets `__halting_kind` and `__halting_words` to these candidates. */
export function assignment(candidates: Candidates): string {
  const kind = `__halting_kind=${quoted(candidates.kind)}`
  return candidates.kind === 'words' ? `${kind} __halting_words=${quoted(candidates.words.join(' '))}` : kind
}

/** Generates the function for bash and zsh that looks up the value of a flag. */
export function valueFunction(values: ReturnType<typeof flagValues>): string {
  const rows = values.map(({ of, value, isOptional }) => ({
    of,
    body: `${assignment(value)}${isOptional ? ' __halting_optional=1' : ''}`,
  }))
  const byCommand = rows.filter(({ of }) => of.includes(' ')).map(({ of, body }) => [of, `${body}; return`] as const)
  const byFlag = rows.filter(({ of }) => !of.includes(' ')).map(({ of, body }) => [of, body] as const)
  return `# $1: the place; $2: a flag. Sets __halting_kind, which is empty for a switch, __halting_words and __halting_optional.
__halting_value() {
  __halting_kind='' __halting_words='' __halting_optional=''
  case "$1 $2" in
${branches(byCommand, '    ')}  esac
  case "$2" in
${branches(byFlag, '    ')}  esac
}
`
}
