import { explicitAutoAllow, type RulePermissions, type SessionWall } from '@halting/policy'
import { editSummary, trialSummary, wallSummary } from '@halting/policy'
import type { Settings } from '@halting/policy/settings'

/** How the commands of a session are confined, one sentence each. */
export interface ConfinementLines {
  /** Read-only commands. */
  readonly read: string
  /** Commands without a rule in `acceptEdits`. */
  readonly edit: string
  /** Commands that are tried on overlays before asking; undefined if the setting is off or the sandbox is on. */
  readonly trial?: string
}

/** Describes how commands are confined. `isSandboxed`: the sandbox is on and confines all commands. */
export function confinementLines(
  wall: SessionWall,
  { sandbox = [], tryReadOnly }: Pick<Settings, 'sandbox' | 'tryReadOnly'>,
  isSandboxed: boolean,
): ConfinementLines {
  if (isSandboxed) return { read: inSandbox, edit: inSandbox }
  const edits = wall.edits()
  const hosts =
    edits.kind === 'off' || explicitAutoAllow(sandbox) === true
      ? ''
      : '; hosts and editors are asked, unless your settings set sandbox.autoAllowBashIfSandboxed to true'
  return {
    read: wallSummary(wall.means()),
    edit: `${editSummary(edits)}${hosts}`,
    ...(tryReadOnly === true && { trial: trialSummary(wall.trials()) }),
  }
}

const inSandbox = 'All commands run in the sandbox'

// Spec R-EFRONT-3b.
/** What happens to commands without a rule in the current mode; undefined unless that is `acceptEdits`. */
export function modeConfinement(
  { mode }: Pick<RulePermissions, 'mode'>,
  wall: Pick<SessionWall, 'edits'> | undefined,
): string | undefined {
  if (mode !== 'acceptEdits' || wall === undefined) return undefined
  const edits = wall.edits()
  const summary = editSummary(edits)
  const todo = edits.kind === 'off' && edits.todo !== undefined ? ` ${edits.todo}` : ''
  return `${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.${todo}`
}

/** How a command would be confined, and why it needs approval in `acceptEdits` although other commands do not. */
export interface CommandConfinement {
  /** `edit`: may change only the workspace; `read` and `look`: read-only; `trial`: tried before asking. Null for an unconfined or denied command. */
  readonly kind: 'edit' | 'read' | 'look' | 'trial' | null
  /** A sentence for a person; undefined if there is nothing to add. */
  readonly text: string | undefined
}

/** How a command would be confined in the current mode of these rules. */
export function commandConfinement(
  command: string,
  permissions: Pick<RulePermissions, 'explain' | 'confinementOf' | 'mode'>,
  wall: Pick<SessionWall, 'edits'> | undefined,
): CommandConfinement {
  const { behavior } = permissions.explain(command)
  const kind = behavior === 'deny' ? null : (permissions.confinementOf({ callId: '', command })?.kind ?? null)
  if (behavior === 'allow') return { kind, text: kind === 'edit' ? confinedRunNote : undefined }
  if (kind === 'trial') return { kind, text: trialNote }
  const edits = permissions.mode === 'acceptEdits' && behavior === 'ask' ? wall?.edits() : undefined
  if (edits?.kind !== 'off') return { kind: null, text: undefined }
  return {
    kind: null,
    text: `Commands are not confined to the workspace: ${edits.why}.${edits.todo === undefined ? '' : ` ${edits.todo}`}`,
  }
}

const trialNote = 'It is tried on overlays first (tryReadOnly), and asks only if it has effects.'
// For a read-only command, the explanation of each part of the line reports the confinement.
const confinedRunNote = 'It runs confined: it changes only the directories of the session and /tmp, and has no network.'
