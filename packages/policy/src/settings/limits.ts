import { durationMs, parseWaitMs } from '@halting/core/adapters'
import { type DefaultLimit, type DefaultLimits, type LimitFieldName, limitFieldNames } from './fields.ts'
import type { Ignored } from './loaded-settings.ts'
import type { EffectiveFile } from './effective-file.ts'
import type { Origin, Settings } from './merge.ts'
import type { SettingsLevel } from './places.ts'

/** The merged limits of all files, and those that are ignored. */
export interface MergedLimits {
  readonly settings: Pick<Settings, 'limits' | 'managedLimits' | 'waitForLimits' | 'managedWaitForLimits'>
  readonly origins: readonly Origin[]
  readonly ignored: readonly Ignored[]
  readonly warnings: readonly string[]
}

/** A limit in one file: as written, and as a number that is `Infinity` for no limit. */
interface FileLimit {
  readonly written: string | number | null
  readonly value: number
  readonly from: string
}

/** The result of merging one limit. */
interface MergedLimit {
  readonly inForce: FileLimit | undefined
  /** The value of the administrator. */
  readonly managed: FileLimit | undefined
  readonly ignored: readonly { readonly limit: FileLimit; readonly why: string; readonly isSilent?: boolean }[]
}

type LimitsIn = (levels: readonly SettingsLevel[]) => readonly FileLimit[]

/** Why a limit is ignored, next to the one that applies. */
interface IgnoredReasons {
  readonly forPerson: (managed: FileLimit) => string
  readonly forProject: (base: FileLimit) => string
}

/**
 * Merges one limit: an administrator's value takes precedence over all others, then the person's own, then the default. A project can only lower the
 * result.
 */
function mergeLimit(limitsOf: LimitsIn, byDefault: FileLimit | undefined, refusals: IgnoredReasons): MergedLimit {
  const [managed] = limitsOf(['managed'])
  const [own] = limitsOf(['flag', 'user'])
  const ignored: MergedLimit['ignored'][number][] = []
  let inForce = managed ?? own ?? byDefault
  if (managed !== undefined && own !== undefined) {
    if (own.value <= managed.value) inForce = own
    else ignored.push({ limit: own, why: refusals.forPerson(managed) })
  }
  const base = inForce
  for (const limit of limitsOf(['local', 'project'])) {
    if (base !== undefined && limit.value > base.value)
      ignored.push({ limit, why: refusals.forProject(base), isSilent: base === byDefault })
    else if (limit.value === Infinity) ignored.push({ limit, why: 'a project cannot remove a limit' })
    else if (inForce === undefined || limit.value < inForce.value) inForce = limit
  }
  return { inForce: inForce === byDefault ? undefined : inForce, managed, ignored }
}

const limitReasons: IgnoredReasons = {
  forPerson: (managed) => `the limit in ${managed.from} is ${formatLimit(managed)}, and cannot be raised`,
  forProject: (base) => `a project cannot raise a limit (${formatLimit(base)}, from ${base.from})`,
}

const waitReasons: IgnoredReasons = {
  forPerson: (managed) => `the limit in ${managed.from} is ${formatLimit(managed)}, and cannot be raised`,
  forProject: (base) => `a project cannot lengthen waits (${formatLimit(base)}, from ${base.from})`,
}

// Spec R-LIM-2, R-SERV-12.
/**
 * The limits of all files, the highest precedence first. Others may only lower an administrator's limits; the person's own override the defaults; a
 * project lowers what applies then, and never raises or removes it. The same holds for how long a run waits for services.
 */
export function mergeLimits(effective: readonly EffectiveFile[], defaults: DefaultLimits = {}): MergedLimits {
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
      // Frontends with their own default may still honor this value.
      if (isSilent !== true || setting !== waitSetting)
        warnings.push(`${setting} in ${limit.from} (${text}) is ignored: ${why}.`)
    }
  }
  for (const name of limitFieldNames) {
    const one = mergeLimit((levels) => limitsIn(effective, name, levels), defaultOf(defaults[name]), limitReasons)
    put(`limits.${name}`, one)
    if (one.managed !== undefined) managedLimits.push([name, orNull(one.managed.value)])
    if (one.inForce !== undefined) limits.push([name, orNull(one.inForce.value)])
  }
  const byDefault = { written: 'none', value: 0, from: 'the default', ...defaults.waitForLimits }
  const wait = mergeLimit((levels) => waitsIn(effective, levels), byDefault, waitReasons)
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

/** The files that set how long a run waits for services, the highest precedence first. */
function waitsIn(effective: readonly EffectiveFile[], levels: readonly SettingsLevel[]): readonly FileLimit[] {
  return effective.flatMap(({ file, fields: { waitForLimits: written } }) => {
    if (written === undefined || !levels.includes(file.level)) return []
    // This cast is safe: the schema has checked the value.
    return [{ written, value: parseWaitMs(written) ?? 0, from: file.name }]
  })
}

/** The files that set this limit, the highest precedence first. */
function limitsIn(
  effective: readonly EffectiveFile[],
  name: LimitFieldName,
  levels: readonly SettingsLevel[],
): readonly FileLimit[] {
  return effective.flatMap(({ file, fields: { limits = {} } }) => {
    const written = limits[name]
    if (written === undefined || !levels.includes(file.level)) return []
    // A text is a duration, which the schema has checked.
    const value = typeof written === 'string' ? durationMs(written) : written
    return [{ written, value: value ?? Infinity, from: file.name }]
  })
}

function formatLimit({ written }: FileLimit): string {
  return written === null ? 'none' : String(written)
}

/** Null for infinity, which JSON does not have. */
function orNull(value: number): number | null {
  return value === Infinity ? null : value
}
