const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** A duration as settings have it (`500ms`, `90s`, `10m`, `1.5h`) in milliseconds; undefined for what is none. */
export function durationMs(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text.trim()) ?? []
  const milliseconds = Number(count) * (units[unit] ?? Number.NaN)
  return count !== '' && Number.isSafeInteger(Math.round(milliseconds)) ? Math.round(milliseconds) : undefined
}
