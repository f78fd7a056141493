/** What a text of Markdown imports: `@path`, but not in code. */
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

/** What may be meant by a path that has a mark behind it, such as the end of a sentence: as it is, and without that. */
export function spellingsOf(path: string): readonly string[] {
  let end = path.length
  // An expression that looks for them at the end would begin at each of them anew: who writes many of them would hold the program up.
  while (end > 0 && marksBehind.includes(path.charAt(end - 1))) end--
  const bare = path.slice(0, end)
  return bare === path || bare === '' ? [path] : [path, bare]
}
