/** The imports of a Markdown text: `@path` outside code. */
export function importsIn(markdown: string): readonly string[] {
  const found = new Set<string>()
  for (const line of linesOutsideCode(markdown)) {
    for (const [, path = ''] of line.matchAll(/(?:^|[\s(])@((?:\\ |[^\s\\`])+)/g))
      found.add(path.replaceAll('\\ ', ' '))
  }
  return [...found]
}

function* linesOutsideCode(markdown: string): Iterable<string> {
  let fence: string | undefined
  for (const line of markdown.split(/\r\n|\n|\r/)) {
    const [, mark] = /^ {0,3}(?:> ?)*(`{3,}|~{3,})/.exec(line) ?? []
    if (fence !== undefined) {
      if (mark !== undefined && mark.startsWith(fence) && /^[\s>]*[`~]+\s*$/.test(line)) fence = undefined
    } else if (mark !== undefined) fence = mark
    else yield line.replace(/(`+)(?:(?!\1)[\s\S])*?\1/g, '')
  }
}

const marksBehind = `.,;:!?)]}'"*_`

/** Returns the possible meanings of a path followed by punctuation: with and without the punctuation. */
export function spellingsOf(path: string): readonly string[] {
  let end = path.length
  // A pattern anchored at the end would take quadratic time for many marks.
  while (end > 0 && marksBehind.includes(path.charAt(end - 1))) end--
  const bare = path.slice(0, end)
  return bare === path || bare === '' ? [path] : [path, bare]
}
