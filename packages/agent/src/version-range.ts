type Version = readonly [number, number, number]

/**
 * Whether a version is in a range in npm's syntax: comparators, `^`, `~`, `x`, and alternatives by `||`. An invalid
 * range or version excludes nothing.
 */
export function isInRange(range: string, version: string): boolean {
  const given = versionOf(version)
  if (given === undefined) return true
  const alternatives = range.split('||').map((part) => part.trim().replaceAll(/([<>=~^]) +/g, '$1'))
  return alternatives.some((part) => part.split(/\s+/).every((comparator) => satisfies(given, comparator)))
}

function satisfies(version: Version, comparator: string): boolean {
  const [, operator = '', written = ''] = /^(>=|<=|>|<|=|\^|~)?v?([\dx*][\w.*-]*)?$/i.exec(comparator) ?? []
  const wanted = versionOf(written)
  if (wanted === undefined) return true
  const given = written.split('.').filter((part) => /^\d+$/.test(part)).length
  const order = compare(version, wanted)
  const isSame = (parts: number): boolean => version.slice(0, parts).every((part, index) => part === wanted[index])
  switch (operator) {
    case '>=':
      return order >= 0
    case '>':
      return order > 0 && !isSame(given)
    case '<':
      return order < 0
    case '<=':
      return order <= 0 || isSame(given)
    case '^':
      return order >= 0 && isSame(1)
    case '~':
      return order >= 0 && isSame(Math.min(given, 2))
    default:
      return isSame(given)
  }
}

function versionOf(text: string): Version | undefined {
  const [, major, minor = '0', patch = '0'] = /^v?(\d+)(?:\.(\d+|[x*]))?(?:\.(\d+|[x*]))?/i.exec(text) ?? []
  if (major === undefined) return undefined
  const numberOf = (part: string): number => (/^\d+$/.test(part) ? Number(part) : 0)
  return [Number(major), numberOf(minor), numberOf(patch)]
}

function compare(one: Version, other: Version): number {
  const at = one.findIndex((part, index) => part !== other[index])
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0)
}
