type Version = readonly [number, number, number]

/**
 * Whether a version is in a range in npm's syntax: comparators, `^`, `~`, `x`, and alternatives by `||`. An invalid
 * range or version excludes nothing.
 */
export function isInRange(range: string, version: string): boolean {
  const parsed = versionOf(version)
  if (parsed === undefined) return true
  const alternatives = range.split('||').map((part) => part.trim().replaceAll(/([<>=~^]) +/g, '$1'))
  return alternatives.some((part) => part.split(/\s+/).every((comparator) => satisfies(parsed, comparator)))
}

function satisfies(version: Version, comparator: string): boolean {
  const [, operator = '', bound = ''] = /^(>=|<=|>|<|=|\^|~)?v?([\dx*][\w.*-]*)?$/i.exec(comparator) ?? []
  const boundVersion = versionOf(bound)
  if (boundVersion === undefined) return true
  const givenParts = bound.split('.').filter((part) => /^\d+$/.test(part)).length
  const order = compare(version, boundVersion)
  const isSame = (parts: number): boolean =>
    version.slice(0, parts).every((part, index) => part === boundVersion[index])
  switch (operator) {
    case '>=':
      return order >= 0
    case '>':
      return order > 0 && !isSame(givenParts)
    case '<':
      return order < 0
    case '<=':
      return order <= 0 || isSame(givenParts)
    case '^':
      return order >= 0 && isSame(1)
    case '~':
      return order >= 0 && isSame(Math.min(givenParts, 2))
    default:
      return isSame(givenParts)
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
