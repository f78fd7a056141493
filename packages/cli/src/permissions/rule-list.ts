import { relative } from 'node:path'
import { homeFolder, removeStoredRule, type Behavior, type StoredRule } from '@halting/agent'
import type { LiveSession } from '../flags/open-session.ts'
import { settingsFor } from '../flags/session-ports.ts'

// Loaded only when somebody views the rules of a session.

/** A permission rule of a session and its source. */
export interface ListedRule {
  readonly behavior: Behavior
  /** The original text: `Bash(npm test *)`. */
  readonly rule: string
  /** The settings file, the flag, or the session, for display. */
  readonly place: string
  /** Whether the rule applies now. Changes of files apply from the next session on. */
  readonly isInForce: boolean
  readonly origin:
    | { readonly type: 'file'; readonly stored: StoredRule }
    | { readonly type: 'session' }
    /** The rule cannot be removed here; `why` gives the reason. */
    | { readonly type: 'fixed'; readonly why: string }
}

type SessionWithRules = Pick<LiveSession, 'run' | 'toolbox' | 'journal' | 'session'>

/** All rules of a session in order of precedence: deny, ask, allow. Reads the settings files again. */
export async function listRules(live: SessionWithRules): Promise<readonly ListedRule[]> {
  const { run, session } = live
  const { cwd } = session.snapshot
  const { origins, files } = await settingsFor(run.choices, { env: run.env, cwd })
  const inForce = live.toolbox.permissions.rules(learnedBefore(live))
  const isApplied = (behavior: Behavior, rule: string): boolean =>
    inForce.some((one) => one.behavior === behavior && one.rule === rule.trim())
  const inFiles = origins.flatMap(({ setting, value, from }): readonly ListedRule[] => {
    const behavior = behaviors.find((each) => setting === `permissions.${each}`)
    if (behavior === undefined || typeof value !== 'string') return []
    const level = files.find(({ name }) => name === from)?.level
    const origin = ruleOrigin(level, { behavior, rule: value, path: from })
    const place = level === 'flag' ? '--settings' : shortPath(from, cwd, homeFolder(run.env))
    return [{ behavior, rule: value, place, isInForce: isApplied(behavior, value), origin }]
  })
  const ofFlags = [
    ...flagRules('deny', '--disallowedTools', run.choices.disallowedTools),
    ...flagRules('allow', '--allowedTools', run.choices.allowedTools),
  ]
  const ofSession = inForce.flatMap(({ behavior, rule, destination }): readonly ListedRule[] => {
    const isStored = inFiles.some((one) => one.behavior === behavior && one.rule.trim() === rule)
    if (destination === undefined || isStored) return []
    return [{ behavior, rule, place: 'this session', isInForce: true, origin: { type: 'session' } }]
  })
  const all = [...inFiles, ...ofFlags, ...ofSession]
  return behaviors.flatMap((behavior) => all.filter((one) => one.behavior === behavior))
}

/**
 * Removes a rule from its source. An allow rule stops applying at once.
 * @returns A message that says what was removed, and what still applies
 * @throws ConfigurationError if the file cannot be changed
 */
export async function removeRule(listed: ListedRule, live: SessionWithRules): Promise<string> {
  const { behavior, rule, origin, place } = listed
  const { permissions } = live.toolbox
  if (origin.type === 'fixed') return `${rule} cannot be removed: ${origin.why}.`
  if (origin.type === 'file' && !(await removeStoredRule(origin.stored, live.session.snapshot)))
    return `${place} no longer contains ${rule}. Nothing was changed.`
  const left = (await listRules(live)).filter(
    (one) => one.behavior === behavior && one.rule.trim() === rule.trim() && one.origin.type !== 'session',
  )
  const [other] = left
  if (other !== undefined)
    return `Removed ${behavior} ${rule} from ${place}. It still applies because of ${other.place}.`
  if (behavior === 'allow') {
    permissions.withdrawAllow(rule.trim(), learnedBefore(live))
    const again = origin.type === 'session' ? ' It applies again when this session is resumed.' : ''
    return `Removed allow ${rule} from ${place}. Such calls now ask.${again}`
  }
  return `Removed ${behavior} ${rule} from ${place}. It still applies to this session, but not to the next.`
}

const behaviors = ['deny', 'ask', 'allow'] as const

function ruleOrigin(level: string | undefined, stored: Omit<StoredRule, 'level'>): ListedRule['origin'] {
  switch (level) {
    case 'user':
    case 'local':
    case 'project':
      return { type: 'file', stored: { ...stored, level } }
    case 'managed':
      return { type: 'fixed', why: `an administrator set it in ${stored.path}` }
    default:
      return { type: 'fixed', why: 'it comes from the flag --settings' }
  }
}

function flagRules(behavior: Behavior, flag: string, rules: readonly string[] = []): readonly ListedRule[] {
  return rules.map((rule) => ({
    behavior,
    rule,
    place: flag,
    isInForce: true,
    origin: { type: 'fixed', why: `it comes from the flag ${flag}; start without it` },
  }))
}

/** Rules that an earlier process of the session learned. They apply although no call was judged in this process yet. */
function learnedBefore({
  journal,
}: Pick<SessionWithRules, 'journal'>): Parameters<SessionWithRules['toolbox']['permissions']['rules']>[0] {
  const updates = journal?.ended.at(-1)?.spent.settings?.permissionUpdates ?? []
  return { learned: updates.filter(({ destination }) => destination === 'session') }
}

function shortPath(path: string, cwd: string, home: string): string {
  const inside = relative(cwd, path)
  if (!inside.startsWith('..')) return inside
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
