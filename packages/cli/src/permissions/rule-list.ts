import { relative } from 'node:path'
import { homeFolder } from '@halting/policy/files'
import type { Behavior } from '@halting/policy'
import { removeStoredRule, type StoredRule } from '@halting/policy/settings'
import type { LiveSession } from '../session/live-session.ts'
import { settingsFor } from '../session/run-settings.ts'

// Loaded when somebody looks at the rules of a session.

/** A permission rule of a session, with where it is written. */
export interface ListedRule {
  readonly behavior: Behavior
  /** As it is written: `Bash(npm test *)`. */
  readonly rule: string
  /** The settings file, the flag, or the session, for a person to read. */
  readonly place: string
  /** Whether it decides about calls now. What was written into a file meanwhile counts from the next session on. */
  readonly isInForce: boolean
  readonly origin:
    | { readonly type: 'file'; readonly stored: StoredRule }
    | { readonly type: 'session' }
    /** It cannot be removed here, and why. */
    | { readonly type: 'fixed'; readonly why: string }
}

type RulesOf = Pick<LiveSession, 'run' | 'toolbox' | 'journal' | 'session'>

/** All rules of a session, in the order in which they decide: deny, ask, allow. Settings files are read anew. */
export async function listRules(live: RulesOf): Promise<readonly ListedRule[]> {
  const { run, session } = live
  const { cwd } = session.snapshot
  const { origins, files } = await settingsFor(run.flags, { env: run.env, cwd })
  const inForce = live.toolbox.permissions.rules(learnedBefore(live))
  const counts = (behavior: Behavior, rule: string): boolean =>
    inForce.some((one) => one.behavior === behavior && one.rule === rule.trim())
  const inFiles = origins.flatMap(({ setting, value, from }): readonly ListedRule[] => {
    const behavior = behaviors.find((each) => setting === `permissions.${each}`)
    if (behavior === undefined || typeof value !== 'string') return []
    const level = files.find(({ name }) => name === from)?.level
    const origin = originIn(level, { behavior, rule: value, path: from })
    const place = level === 'flag' ? '--settings' : shortPath(from, cwd, homeFolder(run.env))
    return [{ behavior, rule: value, place, isInForce: counts(behavior, value), origin }]
  })
  const ofFlags = [
    ...flagRules('deny', '--disallowedTools', run.flags.disallowedTools),
    ...flagRules('allow', '--allowedTools', run.flags.allowedTools),
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
 * Removes a rule where it is written; an allow rule stops to count at once.
 * @returns What a person should know: what was removed, and what still holds.
 * @throws ConfigurationError for a file that cannot be changed.
 */
export async function removeRule(listed: ListedRule, live: RulesOf): Promise<string> {
  const { behavior, rule, origin, place } = listed
  const { permissions } = live.toolbox
  if (origin.type === 'fixed') return `${rule} stays: ${origin.why}.`
  if (origin.type === 'file' && !(await removeStoredRule(origin.stored, live.session.snapshot)))
    return `${place} does not hold ${rule} any more. Nothing was changed.`
  const left = (await listRules(live)).filter(
    (one) => one.behavior === behavior && one.rule.trim() === rule.trim() && one.origin.type !== 'session',
  )
  const [other] = left
  if (other !== undefined) return `Removed ${behavior} ${rule} from ${place}. It still holds by ${other.place}.`
  if (behavior === 'allow') {
    permissions.withdrawAllow(rule.trim(), learnedBefore(live))
    const again = origin.type === 'session' ? ' A later start that resumes this session has it again.' : ''
    return `Removed allow ${rule} from ${place}. Such calls ask from now on.${again}`
  }
  return `Removed ${behavior} ${rule} from ${place}. This session keeps to it; the next one does not.`
}

const behaviors = ['deny', 'ask', 'allow'] as const

function originIn(level: string | undefined, stored: Omit<StoredRule, 'level'>): ListedRule['origin'] {
  switch (level) {
    case 'user':
    case 'local':
    case 'project':
      return { type: 'file', stored: { ...stored, level } }
    case 'managed':
      return { type: 'fixed', why: `an administrator wrote it into ${stored.path}` }
    default:
      return { type: 'fixed', why: 'the flag --settings of this start brings it' }
  }
}

function flagRules(behavior: Behavior, flag: string, rules: readonly string[] = []): readonly ListedRule[] {
  return rules.map((rule) => ({
    behavior,
    rule,
    place: flag,
    isInForce: true,
    origin: { type: 'fixed', why: `the flag ${flag} of this start brings it; start without it` },
  }))
}

/** What an earlier process of the session learned for all of it, while no call was judged in this one. */
function learnedBefore({
  journal,
}: Pick<RulesOf, 'journal'>): Parameters<RulesOf['toolbox']['permissions']['rules']>[0] {
  const updates = journal?.ended.at(-1)?.spent.settings?.permissionUpdates ?? []
  return { learned: updates.filter(({ destination }) => destination === 'session') }
}

function shortPath(path: string, cwd: string, home: string): string {
  const inside = relative(cwd, path)
  if (!inside.startsWith('..')) return inside
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
