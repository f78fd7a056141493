import type { FlagName } from '../flags/flags.ts'
import { type ArgumentGroup, argumentGroups } from '../flags/parse.ts'
import { shellQuoted } from '../io/shell-quote.ts'

/** How the program was called, and what it was asked: the prompt as written, and what was piped in with it. */
export interface Invocation {
  readonly argv: readonly string[]
  readonly written: string
  readonly prompt: string
  /** The session that a further prompt continues; undefined for one that is not stored. */
  readonly sessionId?: string | undefined
}

export interface MissingPermissions {
  readonly rules: readonly string[]
  readonly mode: string | undefined
}

/** A command that is longer than this nobody pastes. */
const maxCommandLength = 2_000

/** What the model is told when the session continues with what was missing. */
const retryPrompt = 'The calls that were denied are allowed now. Try them again.'

/** These choose a session, and the command chooses its own. */
export const sessionFlags: readonly FlagName[] = [
  'resume',
  'continue',
  'sessionId',
  'forkSession',
  'resumeSessionAt',
  'resumeDropsTurn',
]

/**
 * The command that lets denied calls through, and the words before it. It continues the session, so that nothing is paid twice; where the session is not stored
 * it runs the same prompt again. Either way it has the flags of this call, and what was missing.
 */
export function rerunCommand(
  asked: Invocation,
  { rules, mode }: MissingPermissions,
): { readonly text: string; readonly command: string } {
  const groups = argumentGroups(asked.argv)
  const added = [
    ...(mode === undefined ? [] : ['--permission-mode', mode]),
    ...(rules.length === 0 ? [] : ['--allowedTools', rules.join(',')]),
  ]
  const { sessionId } = asked
  const isContinued = sessionId !== undefined
  const replaced = new Set<FlagName>([
    'print',
    ...(mode === undefined ? [] : (['permissionMode'] as const)),
    ...(isContinued ? sessionFlags : []),
  ])
  const prompt = isContinued ? retryPrompt : asked.prompt
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

/** Behind `-p`, where no word is a command. */
function withPrompt(prompt: string, flags: readonly string[]): readonly string[] {
  return prompt.startsWith('-') ? ['-p', ...flags, '--', prompt] : ['-p', prompt, ...flags]
}

/** Settings and servers that are written out as JSON may hold a key or the way to one, and what is shown here ends in logs. */
function mayHoldSecrets({ flag, tokens }: ArgumentGroup): boolean {
  if (flag !== 'settings' && flag !== 'mcpConfig') return false
  return tokens.some((token) =>
    token
      .replace(/^--[^=]*=/, '')
      .trimStart()
      .startsWith('{'),
  )
}
