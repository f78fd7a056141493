import type { FlagName } from '../flags/flags.ts'
import { type ArgumentGroup, argumentGroups } from '../flags/parse.ts'
import { shellQuoted } from '../io/shell-quote.ts'

/** The command line of the program, its prompt argument, and the prompt with piped input. */
export interface Invocation {
  readonly argv: readonly string[]
  readonly argument: string
  readonly prompt: string
  /** The session that a further prompt continues; undefined if it is not stored. */
  readonly sessionId?: string | undefined
}

export interface MissingPermissions {
  readonly rules: readonly string[]
  readonly mode: string | undefined
}

/** Maximum length of a command that is offered for pasting. */
const maxCommandLength = 2_000

/** The prompt when the session continues with the missing permissions. */
const retryPrompt = 'The calls that were denied are allowed now. Try them again.'

/** Flags that choose a session; the new command chooses its own. */
export const sessionFlags: readonly FlagName[] = [
  'resume',
  'continue',
  'sessionId',
  'forkSession',
  'resumeSessionAt',
  'resumeDropsTurn',
]

/**
 * The command that allows denied calls, and its introduction. The command continues the session, so that no work is paid
 * for twice. For a session that is not stored, it runs the same prompt again. In both cases it repeats the flags of this
 * call and adds the missing permissions.
 */
export function rerunCommand(
  invocation: Invocation,
  { rules, mode }: MissingPermissions,
): { readonly text: string; readonly command: string } {
  const groups = argumentGroups(invocation.argv)
  const added = [
    ...(mode === undefined ? [] : ['--permission-mode', mode]),
    ...(rules.length === 0 ? [] : ['--allowedTools', rules.join(',')]),
  ]
  const { sessionId } = invocation
  const isContinued = sessionId !== undefined
  const replaced = new Set<FlagName>([
    'print',
    ...(mode === undefined ? [] : (['permissionMode'] as const)),
    ...(isContinued ? sessionFlags : []),
  ])
  const prompt = isContinued ? retryPrompt : invocation.prompt
  const session = isContinued ? ['--resume', sessionId] : []
  const flags = groups.flatMap(({ flag, tokens }) => (flag === undefined || replaced.has(flag) ? [] : tokens))
  const command = `halting ${shellQuoted(withPrompt(prompt, [...session, ...flags, ...added]))}`
  if (command.length <= maxCommandLength && !groups.some(mayHoldSecrets))
    return {
      text: isContinued ? 'Allow them and continue:' : 'Allow them and run it again:',
      command: `  ${command}`,
    }
  return isContinued
    ? {
        text: 'Continue with the flags of this run, and add:',
        command: `  halting ${shellQuoted(withPrompt(prompt, [...session, ...added]))}`,
      }
    : { text: 'Run the same command again, and add:', command: `  ${shellQuoted(added)}` }
}

/** After `-p`, no word is read as a command. */
function withPrompt(prompt: string, flags: readonly string[]): readonly string[] {
  return prompt.startsWith('-') ? ['-p', ...flags, '--', prompt] : ['-p', prompt, ...flags]
}

/** Settings and servers given as JSON may contain a key, and this output ends up in logs. */
function mayHoldSecrets({ flag, tokens }: ArgumentGroup): boolean {
  if (flag !== 'settings' && flag !== 'mcpConfig') return false
  return tokens.some((token) =>
    token
      .replace(/^--[^=]*=/, '')
      .trimStart()
      .startsWith('{'),
  )
}
