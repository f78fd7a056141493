import { UsageError } from '../usage-error.ts'
import { refuseFlagsThatNeed } from './flag-commands.ts'
import type { Flags } from './flags.ts'
import { unknownToolWarning } from './tool-names.ts'

/** @throws UsageError for flags that cannot be combined */
export function checkFlagConflicts(flags: Flags): void {
  checkSessionFlags(flags)
  const isStream = flags.outputFormat === 'stream-json'
  const isHosted = flags.inputFormat === 'stream-json'
  if (isHosted && !isStream) throw new UsageError('--input-format stream-json needs --output-format stream-json.')
  if (!isHosted) refuseFlagsThatNeed('host', flags)
  if (isStream && !isHosted && flags.verbose !== true)
    throw new UsageError('--output-format stream-json needs --verbose.')
  if (!isStream) refuseFlagsThatNeed('stream', flags)
  for (const [name, text, file] of [
    ['--system-prompt', flags.systemPrompt, flags.systemPromptFile],
    ['--append-system-prompt', flags.appendSystemPrompt, flags.appendSystemPromptFile],
  ] as const) {
    if (text !== undefined && file !== undefined) throw new UsageError(`Give ${name} or ${name}-file, not both.`)
  }
  if (
    flags.dangerouslySkipPermissions === true &&
    (flags.permissionMode ?? 'bypassPermissions') !== 'bypassPermissions'
  ) {
    throw new UsageError(
      `--dangerously-skip-permissions and --permission-mode ${flags.permissionMode} cannot be combined.`,
    )
  }
}

/** @throws UsageError for `--on-limit pause` where nobody could raise the limit */
export function refusePause({ onLimit }: Flags): void {
  if (onLimit !== 'pause') return
  throw new UsageError(
    '--on-limit pause works only where someone can raise the limit: in the interactive program, an editor (halting acp), a host (--input-format stream-json) or on a cluster (--cluster). Otherwise, raise the limit and continue with --resume.',
  )
}

/** @throws UsageError for more than one session */
export function checkOneSession(command: string, [, second]: readonly string[]): void {
  if (second !== undefined) throw new UsageError(`halting ${command} takes one session.`)
}

/** @throws UsageError for more than one prompt */
export function checkOnePrompt([first, second]: readonly string[]): void {
  if (second !== undefined) {
    throw new UsageError(
      `Received two prompts, "${first}" and "${second}". Put the prompt in quotes, and repeat a list flag for each value.`,
    )
  }
}

function checkSessionFlags({ resume, sessionId, forkSession, noSessionPersistence, onAsk, ...flags }: Flags): void {
  const isContinuing = resume !== undefined || flags.continue === true
  if (flags.resumeSessionAt !== undefined && !isContinuing)
    throw new UsageError('--resume-session-at needs --resume ID or --continue.')
  if (flags.resumeDropsTurn !== undefined && flags.resumeSessionAt === undefined)
    throw new UsageError('--resume-drops-turn needs --resume-session-at UUID.')
  if (flags.conversationOnly === true && flags.filesOnly === true)
    throw new UsageError('Give --conversation-only or --files-only, not both.')
  if (resume !== undefined && flags.continue === true) throw new UsageError('Give --resume or --continue, not both.')
  if (forkSession === true && !isContinuing) throw new UsageError('--fork-session needs --resume ID or --continue.')
  if (sessionId !== undefined && isContinuing && forkSession !== true) {
    throw new UsageError('--session-id sets the ID of a new session. With --resume or --continue, add --fork-session.')
  }
  if (noSessionPersistence !== true) return
  if (isContinuing)
    throw new UsageError(
      '--no-session-persistence stores nothing, so it cannot be combined with --resume or --continue.',
    )
  if (onAsk === 'defer') throw new UsageError('--on-ask defer needs a stored session. Remove --no-session-persistence.')
}

/** Warnings about flags that are accepted but have no effect. */
export function flagWarnings(flags: Flags): readonly string[] {
  const lists = [
    ['--allowedTools', flags.allowedTools],
    ['--disallowedTools', flags.disallowedTools],
  ] as const
  return lists.flatMap(([flag, rules = []]) => rules.flatMap((rule) => unknownToolWarning(flag, rule) ?? []))
}
