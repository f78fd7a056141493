import type { flagValues } from './completion-model.ts'
import { assignment, branches } from './shell-text.ts'

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
