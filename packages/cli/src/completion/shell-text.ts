import type { Candidates, CompletedCommand, CompletionModel, flagValues } from './completion-model.ts'

/** A text in single quotes, for bash and zsh: nothing in it is expanded. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Lists the ids of the sessions of this folder. What is printed has the form of a UUID, whatever the program wrote. */
export const listSessions =
  'command halting sessions --json </dev/null 2>/dev/null | grep -oE \'"sessionId": ?"[0-9a-f-]{36}"\' | grep -oE "[0-9a-f-]{36}"'

/** The places whose words or flags are known by a name, in the order of the model. */
export function placeNames({ commands }: CompletionModel): readonly string[] {
  return commands.map(({ name }) => name).filter((name) => name !== '')
}

/** The flags of a place without those of runs, and whether it has these, too. */
export function ownFlags(
  { flags }: CompletedCommand,
  { commands }: CompletionModel,
): { readonly own: CompletedCommand['flags']; readonly hasRuns: boolean } {
  const ofRuns = new Set(commands.find(({ name }) => name === '')?.flags.flatMap(({ names }) => names))
  const names = new Set(flags.flatMap((flag) => flag.names))
  const hasRuns = [...ofRuns].every((name) => names.has(name))
  return { own: hasRuns ? flags.filter((flag) => !flag.names.every((name) => ofRuns.has(name))) : flags, hasRuns }
}

/** The branches of a `case` with the patterns that lead to the same commands. */
export function branches(rows: readonly (readonly [pattern: string, body: string])[], indent: string): string {
  const byBody = new Map<string, string[]>()
  for (const [pattern, body] of rows) byBody.set(body, [...(byBody.get(body) ?? []), pattern])
  return [...byBody].map(([body, patterns]) => `${indent}${patterns.map(quoted).join('|')}) ${body} ;;\n`).join('')
}

/** Sets `__halting_kind` and `__halting_words` to what candidates are. */
export function assignment(candidates: Candidates): string {
  const kind = `__halting_kind=${quoted(candidates.kind)}`
  return candidates.kind === 'words' ? `${kind} __halting_words=${quoted(candidates.words.join(' '))}` : kind
}

/** The function of bash and zsh that says what the value of a flag is. */
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
