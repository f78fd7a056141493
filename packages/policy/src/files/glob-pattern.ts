/**
 * Globs over paths, for rules and for the Glob tool: `*`, `?`, `[a-z]`, `\` and `**` for any number of folders. Models can write both patterns and
 * names, so matching never backtracks further than the last star.
 */
export type GlobPattern = readonly SegmentPattern[]

/** `any` matches any number of folders; otherwise the tokens of one name. */
export type SegmentPattern = 'any' | readonly Token[]

/** One part of a segment of a glob pattern: `*`, a text, or a test of one character. */
export type Token =
  | 'star'
  | {
      /** The text to match. */
      readonly is: string
    }
  | ((character: string) => boolean)

/** Parses a pattern. Empty segments and `.` are ignored. */
export function globPattern(pattern: string): GlobPattern {
  return pattern
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .map((segment) => (segment === '**' ? 'any' : tokensOf(segment)))
}

function tokensOf(segment: string): readonly Token[] {
  const tokens: Token[] = []
  const characters = Array.from(segment)
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? ''
    const close = character === '[' ? characters.indexOf(']', at + (isNegation(characters[at + 1]) ? 3 : 2)) : -1
    if (character === '*') {
      if (tokens.at(-1) !== 'star') tokens.push('star')
    } else if (character === '?') tokens.push(anyCharacter)
    else if (close !== -1) {
      tokens.push(classOf(characters.slice(at + 1, close)))
      at = close
    } else {
      const literal = character === '\\' && at + 1 < characters.length ? (characters[(at += 1)] ?? '') : character
      tokens.push({ is: literal })
    }
  }
  return tokens
}

function anyCharacter(): boolean {
  return true
}

function isSet(token: Token): boolean {
  return typeof token === 'function' && token !== anyCharacter
}

function isNegation(character: string | undefined): boolean {
  return character === '!' || character === '^'
}

function classOf(inside: readonly string[]): Token {
  const isNegated = isNegation(inside[0])
  const members = isNegated ? inside.slice(1) : inside
  const ranges: (readonly [string, string])[] = []
  for (let at = 0; at < members.length; at += 1) {
    const first = members[at] ?? ''
    const last = members[at + 1] === '-' ? members[at + 2] : undefined
    ranges.push([first, last ?? first])
    if (last !== undefined) at += 2
  }
  return (character) => ranges.some(([first, last]) => character >= first && character <= last) !== isNegated
}

export function tokenMatches(token: Exclude<Token, 'star'>, character: string): boolean {
  return typeof token === 'function' ? token(character) : token.is === character
}

/** Whether a name matches. After a mismatch, only the last star is extended by one character. */
function nameMatches(tokens: readonly Token[], name: string): boolean {
  // Without surrogate pairs each code unit is a character.
  const characters = /[\uD800-\uDFFF]/.test(name) ? Array.from(name) : name
  let [at, tokenAt, starAt, resumeAt] = [0, 0, -1, 0]
  while (at < characters.length) {
    const token = tokens[tokenAt]
    if (token === 'star') {
      starAt = tokenAt
      resumeAt = at
      tokenAt += 1
    } else if (token !== undefined && tokenMatches(token, characters[at] ?? '')) {
      at += 1
      tokenAt += 1
    } else if (starAt === -1) return false
    else {
      tokenAt = starAt + 1
      resumeAt += 1
      at = resumeAt
    }
  }
  return tokens.slice(tokenAt).every((token) => token === 'star')
}

/** Whether the pattern matches the whole path. */
export function matchesPath(pattern: GlobPattern, segments: readonly string[]): boolean {
  const [last, name] = [pattern.at(-1), segments.at(-1)]
  // Tests the last name first: a search tests many files, and most fail by their own name.
  if (last !== undefined && last !== 'any' && name !== undefined && !nameMatches(last, name)) return false
  return walk(pattern, segments) === 'whole'
}

/** Whether the pattern matches the path or a folder above it, as in .gitignore. `folder/**` does not match the folder itself. */
export function matchesPathOrAbove(pattern: GlobPattern, segments: readonly string[]): boolean {
  return walk(pattern, segments) !== 'none'
}

/** Whether the pattern may match something in a folder, or the folder itself. */
export function couldMatchBelow(pattern: GlobPattern, folder: readonly string[]): boolean {
  return matchStateBelow(pattern, folder) !== undefined
}

/** What remains to be matched below a folder, as a key that is equal for equal remainders. Undefined if nothing there can match. */
export function matchStateBelow(pattern: GlobPattern, folder: readonly string[]): string | undefined {
  const { reached, isFolderAbove } = reachedPositions(pattern, folder)
  return isFolderAbove || reached.size > 0
    ? `${isFolderAbove}:${[...reached].toSorted((one, other) => one - other).join()}`
    : undefined
}

function walk(pattern: GlobPattern, segments: readonly string[]): 'whole' | 'above' | 'none' {
  const { reached, isFolderAbove } = reachedPositions(pattern, segments)
  if (reached.has(pattern.length)) return 'whole'
  return isFolderAbove ? 'above' : 'none'
}

/**
 * Whether the pattern matches the path or a folder above it, and spells out the names at `indexes`: no wildcard matches
 * these names, and they are not below the matched folder.
 */
export function matchesAndSpells(
  pattern: GlobPattern,
  segments: readonly string[],
  spelled: ReadonlySet<number>,
): boolean {
  const { reached, isFolderAbove } = reachedPositions(pattern, segments, spelled)
  return reached.has(pattern.length) || isFolderAbove
}

const noNames: ReadonlySet<number> = new Set()

export function reachedPositions(
  pattern: GlobPattern,
  segments: readonly string[],
  spelled: ReadonlySet<number> = noNames,
): { readonly reached: ReadonlySet<number>; readonly isFolderAbove: boolean } {
  // The positions in the pattern that can be reached with the segments read so far.
  let reached = withEmptyAny(new Set([0]), pattern)
  let isFolderAbove = false
  for (const [index, segment] of segments.entries()) {
    const isSpelled = spelled.has(index)
    isFolderAbove = !isSpelled && (isFolderAbove || reached.has(pattern.length))
    const next = new Set<number>()
    for (const at of reached) {
      const part = pattern[at]
      if (part === 'any') {
        if (!isSpelled) next.add(at)
      } else if (part !== undefined && (!isSpelled || isLiteral(part)) && nameMatches(part, segment)) next.add(at + 1)
    }
    // A `**` at the end must match at least one name.
    if (!isSpelled && pattern.at(-1) === 'any' && next.has(pattern.length - 1) && reached.has(pattern.length - 1))
      next.add(pattern.length)
    reached = withEmptyAny(next, pattern)
  }
  return { reached, isFolderAbove }
}

function isLiteral(tokens: readonly Token[]): boolean {
  return tokens.every((token) => typeof token === 'object')
}

/** `**` may match no folder, except at the end of the pattern. */
function withEmptyAny(places: Set<number>, pattern: GlobPattern): Set<number> {
  for (const at of places) if (pattern[at] === 'any' && at < pattern.length - 1) places.add(at + 1)
  return places
}

/** Maximum number of segments with brackets that are read in both ways. Each such segment doubles the number of readings. */
const maxBrackets = 4

/**
 * The readings of a pattern in which brackets may be part of a name, as in `app/[id]/page.tsx`. Each segment with brackets is read as a name and as
 * a character class. The reading as names comes first, the pattern as written last.
 */
export function bracketReadings(pattern: string): readonly string[] {
  let readings: readonly string[] = ['']
  let left = maxBrackets
  for (const [at, segment] of pattern.split('/').entries()) {
    const asName = segment.replace(/\\.|\[/gs, (found) => (found === '[' ? '\\[' : found))
    const isBoth = asName !== segment && left > 0 && tokensOf(segment).some((token) => isSet(token))
    if (isBoth) left -= 1
    const forms = isBoth ? [asName, segment] : [segment]
    readings = readings.flatMap((before) => forms.map((form) => (at === 0 ? form : `${before}/${form}`)))
  }
  return readings
}

const maxAlternatives = 200

/** Expands `a{b,c}` to `ab` and `ac`; undefined if there are too many results. Unpaired braces are plain characters. */
export function bracesExpanded(pattern: string): readonly string[] | undefined {
  const done: string[] = []
  const open = [pattern]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    // An innermost pair of braces.
    const found = /\{([^{}]*,[^{}]*)\}/.exec(next)
    if (found === null) done.push(next)
    else {
      const [pair, choices = ''] = found
      const [before, after] = [next.slice(0, found.index), next.slice(found.index + pair.length)]
      open.push(...choices.split(',').map((choice) => before + choice + after))
    }
    if (done.length + open.length > maxAlternatives) return undefined
  }
  return done
}
