/** A text in lines of at most `width` characters; a longer word has a line of its own. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

/** The same for a text that may begin with blanks; further lines begin with `indent` blanks. */
export function hanging(text: string, indent: number, width: number): readonly string[] {
  if (text.length <= width) return [text]
  const [start = ''] = /^ */.exec(text) ?? []
  const end = text.lastIndexOf(' ', width)
  if (end <= start.length) return [text]
  return [
    text.slice(0, end).trimEnd(),
    ...hanging(`${' '.repeat(indent)}${text.slice(end + 1).trimStart()}`, indent, width),
  ]
}
