import { durationMs } from '@halting/core/adapters'
import { type DefaultLimits, type LimitFieldName, limitFieldNames, type LimitSettings } from './fields.ts'
import type { Ignored } from './loaded-settings.ts'
import type { CountingFile, Origin } from './merge.ts'
import type { SettingsLevel } from './places.ts'

/** The limits of all files, and what does not count of them. */
export interface MergedLimits {
  readonly settings: { readonly limits?: LimitSettings; readonly managedLimits?: LimitSettings }
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

/**
 * The limits of all files, the most urgent first (spec R-LIM-2): an administrator's go over all others, which may only lower them; a person's own go over the
 * defaults; a project lowers what holds then, never raises it or takes it away.
 */
export function mergedLimits(counting: readonly CountingFile[], defaults: DefaultLimits = {}): MergedLimits {
  const limits: [string, number | null][] = []
  const managedLimits: [string, number | null][] = []
  const origins: Origin[] = []
  const ignored: Ignored[] = []
  for (const name of limitFieldNames) {
    const [managed] = limitsIn(counting, name, ['managed'])
    const [own] = limitsIn(counting, name, ['flag', 'user'])
    const found = defaults[name]
    const byDefault: FileLimit | undefined = found && { ...found, written: found.value }
    const ignore = (limit: FileLimit, why: string): void =>
      void ignored.push({
        setting: `limits.${name}`,
        text: JSON.stringify(limit.written),
        from: limit.from,
        why,
        forTrust: false,
      })
    let inForce = managed ?? own ?? byDefault
    if (managed !== undefined && own !== undefined) {
      if (own.value <= managed.value) inForce = own
      else ignore(own, `it would raise the limit of ${managed.from}, which is ${shown(managed)}`)
    }
    const base = inForce
    for (const limit of limitsIn(counting, name, ['local', 'project'])) {
      if (base !== undefined && limit.value > base.value)
        ignore(limit, `a project does not raise a limit; that of ${base.from} is ${shown(base)}`)
      else if (limit.value === Infinity) ignore(limit, 'a project does not take a limit away')
      else if (inForce === undefined || limit.value < inForce.value) inForce = limit
    }
    if (managed !== undefined) managedLimits.push([name, orNull(managed.value)])
    if (inForce === undefined || inForce === byDefault) continue
    limits.push([name, orNull(inForce.value)])
    origins.push({ setting: `limits.${name}`, value: inForce.written, from: inForce.from })
  }
  return {
    settings: {
      ...(limits.length > 0 && { limits: Object.fromEntries(limits) }),
      ...(managedLimits.length > 0 && { managedLimits: Object.fromEntries(managedLimits) }),
    },
    origins,
    ignored,
    warnings: ignored.map(({ setting, text, from, why }) => `${setting} in ${from} (${text}) does not count: ${why}.`),
  }
}

/** The files that have this limit, the most urgent first. */
function limitsIn(
  counting: readonly CountingFile[],
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
