/** The opening line of a code fence. */
export interface FenceMark {
  readonly indent: number
  /** The backticks or tildes. */
  readonly mark: string
  readonly info: string
}

export function fenceMark(line: string): FenceMark | undefined {
  const found = /^( *)(`{3,}|~{3,})\s*(.*)$/.exec(line)
  if (found === null) return undefined
  const [, indent = '', mark = '', info = ''] = found
  // A line with backticks in the info string is inline code.
  return mark.startsWith('`') && info.includes('`') ? undefined : { indent: indent.length, mark, info: info.trim() }
}

export function closesFence(line: string, { mark }: FenceMark): boolean {
  const found = /^ *(`{3,}|~{3,})\s*$/.exec(line)?.[1]
  return found !== undefined && found.length >= mark.length && found[0] === mark[0]
}

export function isHeading(line: string): boolean {
  return /^ {0,3}#{1,6}(?:\s|$)/.test(line)
}

/** Columns of a list marker with surrounding spaces, where the text of the item starts. Undefined if the line is not an item. */
export function itemIndent(line: string): number | undefined {
  const found = /^( *)([-*+]|\d{1,9}[.)])( +)\S/.exec(line)
  if (found === null || /^ *(?:(?:-\s*){3,}|(?:\*\s*){3,})$/.test(line)) return undefined
  const [, before = '', mark = '', after = ''] = found
  return before.length + mark.length + after.length
}

export function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

/** Whether the line separates the head of a table. */
export function isTableRule(line: string): boolean {
  return line.includes('|') && /^[ |:-]*-[ |:-]*$/.test(line)
}
