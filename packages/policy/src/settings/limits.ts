import { durationMs, waitMs } from '@halting/core/adapters'
import { type DefaultLimit, type DefaultLimits, type LimitFieldName, limitFieldNames } from './fields.ts'
import type { Ignored } from './loaded-settings.ts'
import type { EffectiveFile } from './effective-file.ts'
import type { Origin, Settings } from './merge.ts'
import type { SettingsLevel } from './places.ts'

/** The limits of all files, and what does not count of them. */
export interface MergedLimits {
  readonly settings: Pick<Settings, 'limits' | 'managedLimits' | 'waitForLimits' | 'managedWaitForLimits'>
  readonly origins: readonly Origin[]
  readonly ignored: readonly Ignored[]
  readonly warnings: readonly string[]
}

/** A limit in one file: as it is written, and as a number that is `Infinity` where there is no limit. */
interface FileLimit {
  readonly written: string | number | null
  readonly value: number
  readonly from: string
}

/** What one limit comes to. */
interface MergedLimit {
  readonly inForce: FileLimit | undefined
  /** An administrator's. */
  readonly managed: FileLimit | undefined
  readonly ignored: readonly { readonly limit: FileLimit; readonly why: string; readonly isSilent?: boolean }[]
}

type LimitsIn = (levels: readonly SettingsLevel[]) => readonly FileLimit[]

/** Why a limit does not count, beside one that holds. */
interface IgnoredReasons {
  readonly ofPerson: (managed: FileLimit) => string
  readonly ofProject: (base: FileLimit) => string
}

/** What holds of a limit: an administrator's over all others, then a person's own, then the default, each of which a project only lowers. */
function mergeLimit(limitsOf: LimitsIn, byDefault: FileLimit | undefined, refusals: IgnoredReasons): MergedLimit {
  const [managed] = limitsOf(['managed'])
  const [own] = limitsOf(['flag', 'user'])
  const ignored: MergedLimit['ignored'][number][] = []
  let inForce = managed ?? own ?? byDefault
  if (managed !== undefined && own !== undefined) {
    if (own.value <= managed.value) inForce = own
    else ignored.push({ limit: own, why: refusals.ofPerson(managed) })
  }
  const base = inForce
  for (const limit of limitsOf(['local', 'project'])) {
    if (base !== undefined && limit.value > base.value)
      ignored.push({ limit, why: refusals.ofProject(base), isSilent: base === byDefault })
    else if (limit.value === Infinity) ignored.push({ limit, why: 'a project cannot remove a limit' })
    else if (inForce === undefined || limit.value < inForce.value) inForce = limit
  }
  return { inForce: inForce === byDefault ? undefined : inForce, managed, ignored }
}

const ofLimits: IgnoredReasons = {
  ofPerson: (managed) => `the limit in ${managed.from} is ${shown(managed)}, and cannot be raised`,
  ofProject: (base) => `a project cannot raise a limit (${shown(base)}, from ${base.from})`,
}

const ofWaits: IgnoredReasons = {
  ofPerson: (managed) => `the limit in ${managed.from} is ${shown(managed)}, and cannot be raised`,
  ofProject: (base) => `a project cannot lengthen waits (${shown(base)}, from ${base.from})`,
}

// Spec R-LIM-2, R-SERV-12.
/**
 * The limits of all files, the most urgent first: an administrator's go over all others, which may only lower them; a person's own go over the
 * defaults; a project lowers what holds then, never raises it or takes it away. So it is with how long a run waits for services.
 */
export function mergedLimits(counting: readonly EffectiveFile[], defaults: DefaultLimits = {}): MergedLimits {
  const limits: [string, number | null][] = []
  const managedLimits: [string, number | null][] = []
  const origins: Origin[] = []
  const ignored: Ignored[] = []
  const warnings: string[] = []
  const put = (setting: string, { inForce, ignored: refused }: MergedLimit): void => {
    if (inForce !== undefined) origins.push({ setting, value: inForce.written, from: inForce.from })
    for (const { limit, why, isSilent } of refused) {
      const text = JSON.stringify(limit.written)
      ignored.push({ setting, text, from: limit.from, why, forTrust: false })
      // Where each frontend has a default of its own, another one may well heed it.
      if (isSilent !== true || setting !== waitSetting)
        warnings.push(`${setting} in ${limit.from} (${text}) is ignored: ${why}.`)
    }
  }
  for (const name of limitFieldNames) {
    const one = mergeLimit((levels) => limitsIn(counting, name, levels), defaultOf(defaults[name]), ofLimits)
    put(`limits.${name}`, one)
    if (one.managed !== undefined) managedLimits.push([name, orNull(one.managed.value)])
    if (one.inForce !== undefined) limits.push([name, orNull(one.inForce.value)])
  }
  const byDefault = { written: 'none', value: 0, from: 'the default', ...defaults.waitForLimits }
  const wait = mergeLimit((levels) => waitsIn(counting, levels), byDefault, ofWaits)
  put(waitSetting, wait)
  return {
    settings: {
      ...(limits.length > 0 && { limits: Object.fromEntries(limits) }),
      ...(managedLimits.length > 0 && { managedLimits: Object.fromEntries(managedLimits) }),
      ...(wait.inForce !== undefined && { waitForLimits: wait.inForce.value }),
      ...(wait.managed !== undefined && { managedWaitForLimits: wait.managed.value }),
    },
    origins,
    ignored,
    warnings,
  }
}

const waitSetting = 'waitForLimits'

function defaultOf(limit: DefaultLimit | undefined): FileLimit | undefined {
  return limit && { written: limit.value, ...limit }
}

/** The files that say how long a run waits for services, the most urgent first. */
function waitsIn(counting: readonly EffectiveFile[], levels: readonly SettingsLevel[]): readonly FileLimit[] {
  return counting.flatMap(({ file, fields: { waitForLimits: written } }) => {
    if (written === undefined || !levels.includes(file.level)) return []
    // The schema has looked at it.
    return [{ written, value: waitMs(written) ?? 0, from: file.name }]
  })
}

/** The files that have this limit, the most urgent first. */
function limitsIn(
  counting: readonly EffectiveFile[],
  name: LimitFieldName,
  levels: readonly SettingsLevel[],
): readonly FileLimit[] {
  return counting.flatMap(({ file, fields: { limits = {} } }) => {
    const written = limits[name]
    if (written === undefined || !levels.includes(file.level)) return []
    // A text is a duration: the schema has looked at it.
    const value = typeof written === 'string' ? durationMs(written) : written
    return [{ written, value: value ?? Infinity, from: file.name }]
  })
}

function shown({ written }: FileLimit): string {
  return written === null ? 'none' : String(written)
}

/** JSON knows no infinity. */
function orNull(value: number): number | null {
  return value === Infinity ? null : value
}
