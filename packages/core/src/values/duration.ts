const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Timers reach no further: about 24 days. */
export const longestDurationMs: number = 2 ** 31 - 1

/** A duration as people write it (`500ms`, `90s`, `10m`, `1.5h`, `1h30m`) in whole milliseconds; undefined for what is none. */
export function durationMs(text: string): number | undefined {
  const given = text.trim()
  const parts = [...given.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  const milliseconds = parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (units[unit] ?? Number.NaN), 0)
  const isWhole = given !== '' && parts.map(([part]) => part).join('') === given
  return isWhole && Number.isSafeInteger(Math.round(milliseconds)) ? Math.round(milliseconds) : undefined
}
